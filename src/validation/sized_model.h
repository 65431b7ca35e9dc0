// A document lifted into the IR, with the sizes at which it is costed and run.
#pragma once

#include <xflow/error.h>
#include <xflow/optimize.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/onnx/document/document.h"
#include "src/onnx/lift/lift.h"
#include "src/validation/opaque_sizes.h"
#include "src/validation/run_inputs.h"

namespace xflow::api {

class SizedModel {
 public:
  // Lifts the document, which must outlive the result. If the name of a dimension stands for different sizes
  // at the sizes of the options, each use of the name in a declaration of an intermediate value is lifted as
  // a separate size. `stop` is called at every node; true ends lifting and shape inference. Errors: those of
  // lift and of run_inputs.
  static Result<std::unique_ptr<SizedModel>> lift(const onnx_io::Document& document, const OptimizeOptions& options,
                                                  const std::function<bool()>& stop = {});

  ir::Arena& arena() { return arena_; }
  const onnx_io::LiftedModel& model() const { return *model_; }
  const std::vector<NamedInput>& inputs() const { return inputs_; }
  const std::vector<NamedInput>& required() const { return required_; }  // inputs without a default
  const RunInputs& runs() const { return runs_; }
  // Contradictory declarations, one sentence each.
  const std::vector<std::string>& contradictions() const { return contradictions_; }

 private:
  SizedModel() = default;
  Result<InputSet> inputs_at(const SizeMap& sizes) const;  // of the inputs without a default
  Result<void> prepare(const onnx_io::Document& document, const onnx_io::LiftOptions& how, const OptimizeOptions& options);

  ir::Arena arena_;
  std::optional<onnx_io::LiftedModel> model_;
  std::optional<OpaqueSizes> opaque_sizes_;
  std::vector<NamedInput> inputs_;
  std::vector<NamedInput> required_;
  RunInputs runs_;
  std::vector<std::string> contradictions_;
};

}  // namespace xflow::api
