// Sizes of results of opaque nodes of a document, by ONNX's own shape inference.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/api/sizes.h"
#include "src/onnx/document.h"
#include "src/onnx/inferred_shapes.h"
#include "src/onnx/lift.h"

namespace xflow::api {

class OpaqueSizes {
 public:
  // The arguments must outlive this. Inputs whose rank is not known are left to inference as declared.
  OpaqueSizes(const onnx_io::Document& document, const onnx_io::LiftedModel& model, const ir::Arena& arena)
      : document_(document), model_(model), arena_(arena) {}

  // The sizes of symbols that dimensions of results of opaque nodes are, where the inputs have these sizes; only those that `inputs` lacks.
  const SizeMap& at(const SizeMap& inputs);

  // Names of dimensions that have been found to stand for different sizes: "unk__2", with what was found, "16 of 'r' and 8 of 's'".
  const std::map<std::string, std::string>& contradictory_names() const { return contradictory_; }

 private:
  SizeMap infer(const SizeMap& inputs, const std::vector<onnx_io::InputDims>& dims);

  const onnx_io::Document& document_;
  const onnx_io::LiftedModel& model_;
  const ir::Arena& arena_;
  std::map<std::vector<std::vector<std::int64_t>>, SizeMap> known_;  // by the dimensions of the inputs
  std::map<std::string, std::string> contradictory_;
};

}  // namespace xflow::api
