#include "src/parallel/split_graph.h"

#include <map>
#include <unordered_map>
#include <utility>

#include "src/parallel/part_assembler.h"

namespace xflow::parallel {
namespace {

using ir::ValueId;

class GraphOfPlan {
 public:
  GraphOfPlan(SplitModel& model, const SplitPlan& plan)
      : model_(model), arena_(model.arena()), plan_(plan), assembler_(model.arena(), model.sizes()) {
    for (const SplitValue& value : model.values())
      if (value.is_sized) whole_.emplace(value.id, value.whole);
  }

  Result<ir::Graph> make(const ir::Graph& graph) {
    for (std::uint32_t number = 0; number < plan_.size(); ++number) {
      if (!model_.operators()[number].outputs.empty()) XFLOW_CHECK(add(number));
    }
    ir::Graph result;
    for (const ValueId output : graph.outputs) {
      const auto whole = whole_.find(output);
      XFLOW_TRY(const ValueId value, outside(output, whole == whole_.end() ? Box() : whole->second));
      result.outputs.push_back(value);
    }
    return result;
  }

 private:
  // A box of a value that operators read, or of an output.
  Result<ValueId> outside(ValueId value, const Box& box) {
    const auto held = held_.find(value);
    const auto whole = whole_.find(value);
    if (whole == whole_.end()) return held == held_.end() ? value : held->second.front().value;
    if (held == held_.end()) return assembler_.slice(value, whole->second, box);
    return assembler_.join(held->second, box);
  }

  Result<void> add(std::uint32_t number) {
    const SplitOperator& op = model_.operators()[number];
    std::map<Box, std::map<Interval, std::vector<BoxValue>>> terms;  // of results, by the terms of a reduction
    for (std::uint32_t part = 0; part < plan_[number].parts(); ++part) {
      const PlannedPart planned = planned_part(model_, number, plan_[number], part);
      auto& results = terms[planned.output][planned.terms.value_or(Interval{})];
      if (!results.empty()) continue;  // a copy
      const auto program = model_.program(number, planned.output, planned.terms);
      if (!program) return fail(ErrorCode::internal, "a part of the plan does not exist");
      XFLOW_TRY(const auto made, assembler_.run(*program, [&](ValueId value, const Box& box) { return outside(value, box); }));
      for (const std::uint32_t value : op.outputs) results.push_back(made.at(model_.values()[value].id));
    }
    for (auto& [box, parts] : terms) {
      for (std::size_t k = 0; k < op.outputs.size(); ++k) {
        BoxValue sum = parts.begin()->second[k];
        for (auto next = std::next(parts.begin()); next != parts.end(); ++next) {
          XFLOW_TRY(sum.value, ops::apply(arena_, "add", {sum.value, next->second[k].value}));
        }
        held_[model_.values()[op.outputs[k]].id].push_back(std::move(sum));
      }
    }
    return {};
  }

  SplitModel& model_;
  ir::Arena& arena_;
  const SplitPlan& plan_;
  PartAssembler assembler_;
  std::unordered_map<ValueId, std::vector<BoxValue>> held_;  // of results
  std::unordered_map<ValueId, Box> whole_;
};

}  // namespace

Result<ir::Graph> graph_of(SplitModel& model, const ir::Graph& graph, const SplitPlan& plan) {
  return GraphOfPlan(model, plan).make(graph);
}

}  // namespace xflow::parallel
