// Sizes of results of opaque nodes of a document: by ONNX's own shape inference, else from a run.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/onnx/document/document.h"
#include "src/onnx/lift/inferred_shapes.h"
#include "src/onnx/lift/lift.h"
#include "src/validation/sizes.h"

namespace xflow::api {

class OpaqueSizes {
 public:
  // The dimensions that these values of the main graph have in a run with inputs of these sizes, in their order; empty where it failed.
  using Run = std::function<std::vector<std::vector<std::int64_t>>(const SizeMap& inputs, std::span<const std::string_view> names)>;

  // The arguments must outlive this. `run`, where there is one, is asked once for every choice of sizes at which inference leaves sizes
  // open. `stop` is asked at every opaque node; true leaves the sizes of the others open.
  OpaqueSizes(const onnx_io::Document& document, const onnx_io::LiftedModel& model, ir::Arena& arena, Run run = {},
              std::function<bool()> stop = {})
      : document_(document), model_(model), arena_(arena), inference_(document, arena), run_(std::move(run)), stop_(std::move(stop)) {}

  // The sizes of symbols that dimensions of results of opaque nodes are, where the inputs have these sizes; only those that `inputs` lacks.
  const SizeMap& at(const SizeMap& inputs);

  // Names of dimensions that have been found to stand for different sizes: "unk__2", with what was found, "16 of 'r' and 8 of 's'".
  const std::map<std::string, std::string>& contradictory_names() const { return contradictory_; }

 private:
  using Dims = std::vector<std::optional<std::int64_t>>;
  SizeMap find(const SizeMap& inputs);
  // Takes over what is known of the dimensions of a value. True if a size of it stays open.
  bool add(std::string_view name, const Dims& dims, const SizeMap& inputs, SizeMap& found);
  void see_in_a_run(std::span<const std::string_view> open, const SizeMap& inputs, SizeMap& found);

  const onnx_io::Document& document_;
  const onnx_io::LiftedModel& model_;
  ir::Arena& arena_;
  onnx_io::NodeInference inference_;
  Run run_;
  std::function<bool()> stop_;
  std::map<ir::SymbolId, std::string> first_;                                    // the value at which a size was found
  std::map<std::vector<std::pair<ir::SymbolId, std::int64_t>>, SizeMap> known_;  // by the sizes of the inputs
  std::map<std::string, std::string> contradictory_;
};

}  // namespace xflow::api
