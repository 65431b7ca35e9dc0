#include "src/parallel/split_graph.h"

#include <map>
#include <optional>
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

  using Made = std::unordered_map<ValueId, BoxValue>;

  Result<void> add(std::uint32_t number) {
    const SplitOperator& op = model_.operators()[number];
    const bool has_terms = plan_[number].degree(SplitTarget::reduction) > 1;
    std::map<Box, std::map<Interval, PartProgram>> programs;  // of results, by the terms of a reduction
    for (std::uint32_t part = 0; part < plan_[number].parts(); ++part) {
      const PlannedPart planned = planned_part(model_, number, plan_[number], part);
      const auto [own, is_new] = programs[planned.output].try_emplace(planned.terms.value_or(Interval{}));
      if (!is_new) continue;  // a copy
      auto program = model_.program(number, planned.output, planned.terms);
      if (!program) return fail(ErrorCode::internal, "a part of the plan does not exist");
      own->second = *std::move(program);
    }
    const auto read = [&](ValueId value, const Box& box) { return outside(value, box); };
    for (const auto& [box, terms] : programs) {
      Made made;
      if (has_terms) {
        XFLOW_TRY(made, reduced(op, terms));
      } else {
        XFLOW_TRY(made, assembler_.run(terms.begin()->second, read));
      }
      for (const std::uint32_t value : op.outputs) held_[model_.values()[value].id].push_back(made.at(model_.values()[value].id));
    }
    return {};
  }

  // The results of programs for the terms of a reduction.
  Result<Made> reduced(const SplitOperator& op, const std::map<Interval, PartProgram>& terms) {
    const ir::NodeId reduced = op.operations[model_.kind(op).reduced];
    const char* const combine = partition::combining_operator(model_.kind(op).reduction_kind);
    std::optional<BoxValue> sum;
    for (const auto& [interval, program] : terms) {
      const SummedProgram divided = divided_at_sum(arena_, program, reduced);
      XFLOW_TRY(const Made made, assembler_.run(divided.terms, [&](ValueId value, const Box& box) { return outside(value, box); }));
      BoxValue own = made.at(divided.sum);
      if (sum) {
        XFLOW_TRY(own.value, ops::apply(arena_, combine, {sum->value, own.value}));
      }
      sum = std::move(own);
    }
    const SummedProgram divided = divided_at_sum(arena_, terms.begin()->second, reduced);
    XFLOW_TRY(Made made, assembler_.run(divided.after, [&](ValueId value, const Box& box) -> Result<ValueId> {
      return value == divided.sum ? assembler_.slice(sum->value, sum->box, box) : outside(value, box);
    }));
    made.insert_or_assign(divided.sum, *sum);
    return made;
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
