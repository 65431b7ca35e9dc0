// Reads the sizes of values from a run of the model.
#pragma once

#include <xflow/optimize.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "src/onnx/document/document.h"
#include "src/validation/check_inputs.h"

namespace xflow::api {

// Returns the dimensions of these values of the main graph, in the order of `names`, from one run on
// `inputs` in the runner of the options. Empty if the runner cannot run the model, and for a model with
// external data, which the runner would look for in another folder.
std::vector<std::vector<std::int64_t>> sizes_of_run(const onnx_io::Document& document, std::span<const std::string_view> names,
                                                    const InputSet& inputs, const OptimizeOptions& options);

}  // namespace xflow::api
