// A document in the IR, with sizes at which it is costed and run.
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
  // Lifts the document, which must outlive the result. A name of a dimension that stands for different sizes at the sizes of the options is
  // lifted as a size of its own wherever intermediate values are declared with it. `stop` is asked at every node; true
  // ends lifting and shape inference. Errors: those of lift and of run_inputs.
  static Result<std::unique_ptr<SizedModel>> lift(const onnx_io::Document& document, const OptimizeOptions& options,
                                                  const std::function<bool()>& stop = {});

  ir::Arena& arena() { return arena_; }
  const onnx_io::LiftedModel& model() const { return *model_; }
  const std::vector<NamedInput>& inputs() const { return inputs_; }
  const std::vector<NamedInput>& required() const { return required_; }  // inputs without a default
  const RunInputs& runs() const { return runs_; }
  // Declarations that do not fit together, a sentence each.
  const std::vector<std::string>& contradictions() const { return contradictions_; }

 private:
  SizedModel() = default;
  Result<InputSet> inputs_at(const SizeMap& sizes) const;  // those without a default
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
