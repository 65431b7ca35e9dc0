// Two models in one arena.
#pragma once

#include <xflow/error.h>
#include <xflow/optimize.h>
#include <xflow/verify_models.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/equivalence/names.h"
#include "src/equivalence/rebuild.h"
#include "src/eval/evaluate.h"
#include "src/onnx/document/document.h"
#include "src/onnx/lift/lift.h"
#include "src/support/acceptance.h"
#include "src/validation/check_inputs.h"
#include "src/validation/opaque_sizes.h"
#include "src/validation/sizes.h"

namespace xflow::equivalence {

// One of the models: its outputs alone, without the values whose names must be kept.
struct OneModel {
  onnx_io::Document document;
  onnx_io::LiftedModel lifted;
  ir::Graph graph;
  NameMap names;  // of the values of `graph`
};

// The inputs of a run, and the sizes that they leave open.
struct ModelRun {
  std::string label;
  eval::Bindings inputs;
  eval::Options options;
};

// Which inputs of two bodies are the same value: the class of each input.
struct BodyInputs {
  std::vector<std::size_t> a;
  std::vector<std::size_t> b;
};

class TwoModels {
 public:
  // Opens and lifts both models, with these sizes in place of open ones of inputs. Errors: those of
  // Document::open and onnx_io::fix_inputs; limit if `stop` returns true.
  static Result<std::unique_ptr<TwoModels>> open(const std::string& a, const std::string& b, const VerifyModelsOptions& options,
                                                 std::function<bool()> stop, const std::vector<InputShape>& fixed = {});

  // Two bodies. Their outputs correspond by position. An input of B without an equal one of A may be
  // anything. Errors: limit if `stop` returns true.
  static Result<std::unique_ptr<TwoModels>> of_bodies(onnx_io::Document a, onnx_io::Document b, const BodyInputs& inputs,
                                                      std::function<bool()> stop);

  // Whether the models have the same inputs and outputs, and B accepts all sizes that A accepts; refused
  // with the first difference. Errors: those of reading defaults.
  Result<Acceptance> same_interface() const;
  // Lets B read A's inputs. An input with a default that only one of the models has keeps it. Call it once,
  // if the interfaces are the same. Errors: ill_typed for an operation of B that refuses A's types.
  Result<void> join();
  // Seeded inputs of A. Errors: those of sizes and values.
  Result<ModelRun> run(const VerifyModelsOptions& options);
  // Sizes of A's inputs that A accepts; without inputs that have no open size. Errors: those of choose_sizes
  // and adjust_sizes.
  Result<std::vector<InputShape>> sizes(const VerifyModelsOptions& options, const api::OpenSizes& open);

  ir::Arena& arena() { return arena_; }
  OneModel& a() { return *a_; }
  OneModel& b() { return *b_; }
  // The serial number of B's first opaque node after join().
  std::uint32_t first_of_b() const { return static_cast<std::uint32_t>(a_->document.nodes().size()); }

 private:
  explicit TwoModels(std::function<bool()> stop) : stop_(std::move(stop)) {}
  Result<std::unique_ptr<OneModel>> lift(onnx_io::Document document);
  Result<std::vector<api::NamedInput>> inputs_of_a() const;
  // The default of an input; nothing if it has none.
  Result<std::optional<ir::Constant>> default_of(const OneModel& model, std::string_view input) const;
  static std::vector<std::string_view> required(const OneModel& model);
  std::string input_difference(std::string_view name, std::map<ir::SymbolId, ir::Poly>& sizes) const;
  Result<bool> same_default(std::string_view input) const;

  std::function<bool()> stop_;
  bool are_bodies_ = false;
  std::vector<std::unique_ptr<std::string>> own_names_;  // of inputs of a body of B that A lacks
  ir::Arena arena_;
  std::unique_ptr<OneModel> a_;
  std::unique_ptr<OneModel> b_;
  std::optional<api::OpaqueSizes> opaque_sizes_;
};

}  // namespace xflow::equivalence
