// A model that can be optimised: an ONNX document, a body of one, or a graph that was built in code.
#pragma once

#include <xflow/error.h>
#include <xflow/optimize.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/optimizer/problem.h"
#include "src/search/search.h"
#include "src/support/acceptance.h"

namespace xflow::api {

// The stages of run.h call these in the order in which they are declared.
class Model {
 public:
  Model() = default;
  virtual ~Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // Makes the graph in the IR, and reports what is odd about it. Errors: those of the model; limit where `limits` end the search.
  virtual Result<void> lift(const OptimizeOptions& options, const RunLimits& limits, OptimizeReport& report) = 0;
  // The lifted graph, what it is run on, and how values are named. The model must outlive both.
  virtual Problem problem() = 0;
  virtual const RunInputs& runs() const = 0;
  // What lifting simplified, since it holds by the definition of a graph.
  virtual std::vector<Simplification> simplifications() = 0;

  // Starts what runs whole models, where that is not the device of the kernels. `options` and `limits` must outlive the model.
  virtual Result<void> open_runner(const OptimizeOptions& /*options*/, const RunLimits& /*limits*/) { return {}; }
  virtual bool has_runner() const { return false; }
  virtual void close_runner() {}

  // Puts the steps that found a graph into the report.
  virtual void list_steps(const search::Finalist& found, OptimizeReport& report) const = 0;
  // Makes of a graph what can be written. Refused: what cannot be expressed, or is the original again.
  virtual Acceptance lower(const search::Finalist& found) = 0;
  // Runs what was lowered last, made of `found`, against the original, and fills in the report.
  virtual Acceptance judge(const Problem& problem, const search::Finalist& found, const OptimizeOptions& options,
                           const std::function<void()>& progress, OptimizeReport& report) = 0;
  // Improves what judge() accepted by what only running it can tell.
  virtual void refine(const Problem& /*problem*/, const search::Finalist& /*found*/, const RunLimits& /*limits*/,
                      const std::function<void()>& /*progress*/, OptimizeReport& /*report*/) {}
  // Of what was lowered last where nothing is run: whether it is small enough to be written, whether its predicted gain is large enough,
  // and what the report says of that nothing was run.
  virtual Acceptance accept_size(const OptimizeReport& /*report*/) const { return accepted(); }
  virtual Acceptance accept_gain(const OptimizeReport& /*report*/, std::span<const Simplification> /*simplifications*/) const {
    return accepted();
  }
  virtual std::string why_not_run(const OptimizeOptions& options) const = 0;

  // Counts the nodes of what was lowered last, made of `found`, in the report.
  virtual void count_nodes(const search::Finalist& found, std::span<const Simplification> simplifications,
                           OptimizeReport& report) const = 0;
  // What was lowered last as a model of its own, in which more may be found. Null: nothing more is looked for.
  virtual std::unique_ptr<Model> next(const RunLimits& /*limits*/) { return nullptr; }
};

}  // namespace xflow::api
