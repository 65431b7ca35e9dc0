// The interface of a model that can be optimised: an ONNX document, a body of one, or a graph built in code.
#pragma once

#include <xflow/error.h>
#include <xflow/optimize.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/optimizer/problem.h"
#include "src/search/search.h"
#include "src/support/acceptance.h"

namespace xflow::api {

// The stages of run.h call the functions in the order of their declarations.
class Model {
 public:
  Model() = default;
  virtual ~Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // Builds the IR graph and reports oddities of the model. Errors: those of the model; limit if `limits` end
  // the search.
  virtual Result<void> lift(const OptimizeOptions& options, const RunLimits& limits, OptimizeReport& report) = 0;
  // The lifted graph, its inputs, and the names of values. The model must outlive the result of problem()
  // and of runs().
  virtual Problem problem() = 0;
  virtual const RunInputs& runs() const = 0;
  // The simplifications that lifting made; they hold by the definition of a graph.
  virtual std::vector<Simplification> simplifications() = 0;

  // Starts the runner, if whole models run in one and not on the device of the kernels. `options` and
  // `limits` must outlive the model.
  virtual Result<void> open_runner(const OptimizeOptions& /*options*/, const RunLimits& /*limits*/) { return {}; }
  virtual bool has_runner() const { return false; }
  virtual void close_runner() {}

  // The number of the graph in its model (TracedSearch); 0: the main graph.
  virtual std::uint64_t graph_number() const { return 0; }
  // Writes the steps that lead to a graph into the report.
  virtual void list_steps(const search::Finalist& found, OptimizeReport& report) const = 0;
  // Lowers a graph to a form that can be written. Refuses a graph that cannot be exported, or whose export
  // equals the original.
  virtual Acceptance lower(const search::Finalist& found) = 0;
  // Runs the last lowered result, made of `found`, against the original, and fills in the report.
  virtual Acceptance judge(const Problem& problem, const search::Finalist& found, const OptimizeOptions& options,
                           const std::function<void()>& progress, OptimizeReport& report) = 0;
  // Tries the accepted result with declared shapes, whose benefit only a run can show. True if they are
  // declared.
  virtual bool refine(const Problem& /*problem*/, const search::Finalist& /*found*/, const RunLimits& /*limits*/,
                      const std::function<void()>& /*progress*/, OptimizeReport& /*report*/) {
    return false;
  }
  // Lowers a graph with declared shapes.
  virtual Acceptance lower_with_shapes(const search::Finalist& /*found*/) { return refused("shapes cannot be declared"); }
  // For a lowered result that is not run: accept_size() checks that it is small enough to be written,
  // accept_gain() that its predicted gain is large enough, and why_not_run() gives the report's reason why
  // nothing was run.
  virtual Acceptance accept_size(const OptimizeReport& /*report*/) const { return accepted(); }
  virtual Acceptance accept_gain(const OptimizeReport& /*report*/, std::span<const Simplification> /*simplifications*/) const {
    return accepted();
  }
  virtual std::string why_not_run(const OptimizeOptions& options) const = 0;

  // Counts the nodes of the last lowered result, made of `found`, in the report.
  virtual void count_nodes(const search::Finalist& found, std::span<const Simplification> simplifications,
                           OptimizeReport& report) const = 0;
  // The last lowered result as a new model for another round. Null: no other round.
  virtual std::unique_ptr<Model> next(const RunLimits& /*limits*/) { return nullptr; }
};

}  // namespace xflow::api
