// Nodes of a run whose results ONNX does not define for the tensors that they read.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "src/eval/tensor.h"
#include "src/onnx/document/document.h"

namespace xflow::api {

// Returns why ONNX defines no result: an index out of range (Gather, GatherElements, GatherND), an integer
// division by zero, a conversion to an integer that cannot hold the number, or a reflection (Pad) that is
// longer than its dimension. Empty if there is a result, or if the interpreter refuses the node itself.
// `operands`: null for an omitted one.
std::string undefined_result(const onnx_io::Node& node, std::span<const std::shared_ptr<const eval::Tensor>> operands,
                             const eval::Tensor& result);

}  // namespace xflow::api
