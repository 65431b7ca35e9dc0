// Compares the outputs of a run with those of a model, by the rule of `xflow check`.
#pragma once

#include <xflow/check.h>
#include <xflow/run.h>

#include <span>
#include <string>

#include "src/validation/check_inputs.h"

namespace xflow::execution {

// Runs the model in the file `path` on `inputs`, in double and in float, and compares `outputs` with it.
// Large outputs are compared at a sample of their elements (docs/eval.md, *Limits of a comparison*). Errors:
// those of check_files.
Result<CheckReport> check_outputs(const std::string& path, const api::InputSet& inputs, std::span<const RunOutput> outputs,
                                  const RunOptions& options);

}  // namespace xflow::execution
