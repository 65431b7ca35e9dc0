// Shapes of values by ONNX's own shape inference (onnx 1.22, onnx/shape_inference), for values that xflow does not type itself.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/ir/type.h"
#include "src/onnx/document.h"

namespace xflow::onnx_io {

// The type of a tensor as far as it was inferred; dimensions without a value are not known.
struct InferredType {
  ir::DataType data_type = ir::DataType::undefined;
  std::vector<std::optional<std::int64_t>> dims;
};

// Sizes of one input, by which those that the document declares are replaced.
struct InputDims {
  std::string_view name;
  std::vector<std::int64_t> dims;
};

// Types of values of the main graph whose rank could be inferred, by name. Dimensions of the inputs that are neither declared as numbers
// nor given in `inputs` are unknown, so that a number in the result holds for every size that they may have. The document's declarations of
// intermediate values and of outputs are not read, except those of operators that ONNX has no schema for.
//
// Elements of initializers are read where they have at most 1,024 elements. Of a model that ONNX refuses, what was inferred before.
std::unordered_map<std::string, InferredType> infer_types(const Document& document, std::span<const InputDims> inputs);

}  // namespace xflow::onnx_io
