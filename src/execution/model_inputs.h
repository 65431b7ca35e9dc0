// The inputs of a run of parts.
#pragma once

#include <xflow/error.h>
#include <xflow/run.h>
#include <xflow/split.h>

#include <span>
#include <string>

#include "src/execution/part_program.h"
#include "src/validation/check_inputs.h"

namespace xflow::execution {

// The tensors of the model's inputs that parts read: those of the files, or seeded values. `models`: the
// parts, by number; a part without inputs of the model may be null. Errors: those of read_inputs and of
// seeded_inputs; unreadable for an input without values; invalid_argument for shapes.
Result<api::InputSet> model_inputs(const PartManifest& manifest, std::span<const std::unique_ptr<PartProgram>> models,
                                   const RunOptions& options);

}  // namespace xflow::execution
