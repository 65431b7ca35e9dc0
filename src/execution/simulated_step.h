// Simulates the step of a split model with its parts as tasks.
#pragma once

#include <xflow/run.h>
#include <xflow/split.h>

#include <span>
#include <string>
#include <vector>

#include "src/execution/step_runner.h"

namespace xflow::execution {

// The tensors that pass between devices, with numbers of each.
struct SentTensors {
  std::span<const SentTensor> tensors;
  std::span<const double> bytes;
  std::span<const double> complete;  // seconds that its source computes before it is complete, up to RunPart::predicted
  std::span<const double> needed;    // seconds that its first reader computes before it needs it
};

// The simulated time of a step on a cluster that has the devices of the manifest. A device computes its
// parts in their order, each for RunPart::predicted. A part sends a tensor when it is complete, and waits
// when it needs one that has not arrived. If all devices are CPUs, two of one host pass a tensor through
// their memory: each spends half of the link's time, in which it computes nothing. Errors: unreadable for a
// file that is no cluster and for a cluster without one of the devices.
Result<Seconds> simulated_step(const std::string& cluster, const PartManifest& manifest, std::span<const RunPart> parts,
                               const SentTensors& sent);

}  // namespace xflow::execution
