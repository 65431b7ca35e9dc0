// Sizes of the results of opaque nodes of a document: by ONNX's shape inference, otherwise from a run.
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
  // Returns the dimensions of these values of the main graph in a run with inputs of these sizes, in the
  // order of `names`; empty if the run failed.
  using Run = std::function<std::vector<std::vector<std::int64_t>>(const SizeMap& inputs, std::span<const std::string_view> names)>;

  // The arguments must outlive this object. `run`, unless null, is called once for every choice of sizes at
  // which inference leaves sizes open. `stop` is called at every opaque node; true leaves the remaining
  // sizes open.
  OpaqueSizes(const onnx_io::Document& document, const onnx_io::LiftedModel& model, ir::Arena& arena, Run run = {},
              std::function<bool()> stop = {})
      : document_(document), model_(model), arena_(arena), inference_(document, arena), run_(std::move(run)), stop_(std::move(stop)) {}

  // Returns the sizes of the symbols that are dimensions of results of opaque nodes, given the sizes of the
  // inputs. The result has only symbols that `inputs` lacks.
  const SizeMap& at(const SizeMap& inputs);

  // Names of dimensions that stand for different sizes: "unk__2", with the sizes found, "16 of 'r' and 8 of
  // 's'".
  const std::map<std::string, std::string>& contradictory_names() const { return contradictory_; }

 private:
  using Dims = std::vector<std::optional<std::int64_t>>;
  SizeMap find(const SizeMap& inputs);
  // Records the known dimensions of a value. Returns true if one of its sizes stays open.
  bool add(std::string_view name, const Dims& dims, const SizeMap& inputs, SizeMap& found);
  void see_in_a_run(std::span<const std::string_view> open, const SizeMap& inputs, SizeMap& found);

  const onnx_io::Document& document_;
  const onnx_io::LiftedModel& model_;
  ir::Arena& arena_;
  onnx_io::NodeInference inference_;
  Run run_;
  std::function<bool()> stop_;
  // The value at which a size was found first.
  std::map<ir::SymbolId, std::string> first_;
  std::map<std::vector<std::pair<ir::SymbolId, std::int64_t>>, SizeMap> known_;  // by the sizes of the inputs
  std::map<std::string, std::string> contradictory_;
};

}  // namespace xflow::api
