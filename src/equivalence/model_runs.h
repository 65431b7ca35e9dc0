// Runs of two models on the same inputs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "src/equivalence/two_models.h"
#include "src/equivalence/values.h"
#include "src/eval/evaluate.h"
#include "src/validation/document_run.h"

namespace xflow::equivalence {

// Outputs that were computed of A and of B. All lists are in the order of `outputs`.
struct RunResults {
  std::vector<std::size_t> outputs;     // numbers of outputs of A
  std::vector<eval::Tensor> reference;  // A in double
  std::vector<eval::Tensor> own;        // A in float, of the shapes of `reference`
  std::vector<eval::Tensor> actual;     // B in double
};

class ModelRuns {
 public:
  // `models` have joined. The arguments must outlive this object.
  ModelRuns(TwoModels& models, const ModelRun& run) : models_(models), run_(run) {}

  // Computes the graphs. If they leave an output open that depends on bodies or functions, the documents are
  // run. Nothing if no output was computed.
  std::optional<RunResults> results();
  // The outputs of A in double on other inputs, in the order of the last results; nothing if one of them
  // cannot be computed.
  std::optional<std::vector<eval::Tensor>> of_a(const eval::Bindings& inputs);
  // Why a run of a document ended without results; empty if none did.
  const std::string& why_not_run() const { return why_not_run_; }

 private:
  std::optional<RunResults> by_graphs();
  std::optional<RunResults> by_documents();
  Result<std::vector<eval::Tensor>> run(const OneModel& model, const eval::Bindings& inputs, eval::Number number);

  TwoModels& models_;
  const ModelRun& run_;
  bool by_documents_ = false;
  std::vector<std::size_t> outputs_;  // of the last results
  std::string why_not_run_;
};

}  // namespace xflow::equivalence
