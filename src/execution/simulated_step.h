// Simulates the step of a split model with its parts as tasks.
#pragma once

#include <xflow/run.h>
#include <xflow/split.h>

#include <span>
#include <string>
#include <vector>

#include "src/execution/step_runner.h"

namespace xflow::execution {

// The simulated time of a step on a cluster that has the devices of the manifest. A part takes
// RunPart::predicted on each device, and sent tensors have these bytes. Errors: unreadable for a file that
// is no cluster and for a cluster without one of the devices.
Result<Seconds> simulated_step(const std::string& cluster, const PartManifest& manifest, std::span<const RunPart> parts,
                               std::span<const SentTensor> sent, std::span<const double> bytes);

}  // namespace xflow::execution
