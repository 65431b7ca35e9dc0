// A graph built in code, as a Model.
#pragma once

#include <xflow/graph.h>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/optimizer/built_graph.h"
#include "src/optimizer/model.h"

namespace xflow::api {

class BuiltModel final : public Model {
 public:
  // The graph must outlive it.
  explicit BuiltModel(const Graph& graph) : graph_(graph) {}

  Result<void> lift(const OptimizeOptions& options, const RunLimits& limits, OptimizeReport& report) override;
  Problem problem() override;
  const RunInputs& runs() const override { return runs_; }
  std::vector<Simplification> simplifications() override { return find_simplifications(graph_, built_, arena_); }
  void list_steps(const search::Finalist& found, OptimizeReport& report) const override;
  Acceptance lower(const search::Finalist& found) override;
  Acceptance judge(const Problem& problem, const search::Finalist& found, const OptimizeOptions& options,
                   const std::function<void()>& progress, OptimizeReport& report) override;
  std::string why_not_run(const OptimizeOptions& options) const override;
  void count_nodes(const search::Finalist& found, std::span<const Simplification> simplifications, OptimizeReport& report) const override;

  Graph take_lowered() { return *std::move(lowered_); }

 private:
  std::string place_of(ir::ValueId value) const;  // "node 3 (relu)" for a value of the graph, otherwise empty
  Result<ir::Constant> fold(ir::ValueId value);

  const Graph& graph_;
  ir::Arena arena_;
  BuiltGraph built_;
  std::vector<NamedInput> inputs_;
  RunInputs runs_;
  const RunLimits* limits_ = nullptr;
  std::map<ir::ValueId, ir::Constant> folded_;
  std::optional<Graph> lowered_;
};

}  // namespace xflow::api
