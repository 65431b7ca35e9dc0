#include "src/parallel/split_graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "src/ops/operator.h"

namespace xflow::parallel {
namespace {

using ir::ValueId;

struct HeldValue {
  Box box;
  ValueId value;
};

class GraphOfPlan {
 public:
  GraphOfPlan(SplitModel& model, const SplitPlan& plan) : model_(model), arena_(model.arena()), plan_(plan), typing_(arena_.symbols()) {}

  Result<ir::Graph> make(const ir::Graph& graph) {
    for (std::uint32_t number = 0; number < plan_.size(); ++number) {
      if (!model_.operators()[number].outputs.empty()) XFLOW_CHECK(add(number));
    }
    ir::Graph result;
    for (const ValueId output : graph.outputs) {
      const auto held = held_.find(output);
      ValueId value = output;
      if (held != held_.end() && model_.arena().type(output).ranked) {
        XFLOW_TRY(value, assemble(held->second, whole_.at(output)));
      } else if (held != held_.end()) {
        value = held->second.front().value;
      }
      result.outputs.push_back(value);
    }
    return result;
  }

 private:
  Result<ValueId> slice(ValueId value, const Box& from, const Box& part) {
    if (from == part) return value;
    std::vector<ir::Poly> starts;
    std::vector<ir::Poly> sizes;
    for (std::size_t d = 0; d < from.size(); ++d) {
      starts.emplace_back(part[d].begin - from[d].begin);
      sizes.emplace_back(part[d].size());
    }
    ir::Attributes attributes{
        {"starts", std::move(starts)}, {"sizes", std::move(sizes)}, {"steps", std::vector<ir::Poly>(from.size(), ir::Poly(1))}};
    return ops::apply(arena_, "slice", {value}, std::move(attributes));
  }

  // A box of a value from the boxes that there are, which divide each dimension alike.
  Result<ValueId> assemble(const std::vector<HeldValue>& held, const Box& wanted) {
    std::vector<HeldValue> found;
    for (const HeldValue& own : held) {
      if (const auto common = intersection(own.box, wanted)) {
        const bool is_known = std::ranges::any_of(found, [&](const HeldValue& other) { return other.box == *common; });
        if (is_known) continue;
        XFLOW_TRY(const ValueId part, slice(own.value, own.box, *common));
        found.push_back({*common, part});
      }
    }
    for (std::size_t d = wanted.size(); d-- > 0;) {
      std::map<Box, std::vector<HeldValue>> rows;  // by their other dimensions
      for (const HeldValue& own : found) {
        Box key = own.box;
        key[d] = {};
        rows[key].push_back(own);
      }
      found.clear();
      for (auto& [key, row] : rows) {
        std::ranges::sort(row, {}, [&](const HeldValue& own) { return own.box[d].begin; });
        Box box = row.front().box;
        box[d].end = row.back().box[d].end;
        ValueId joined = row.front().value;
        if (row.size() > 1) {
          std::vector<ValueId> operands;
          for (const HeldValue& own : row) operands.push_back(own.value);
          const ir::Attributes axis{{"axis", ir::Poly(static_cast<std::int64_t>(d))}};
          XFLOW_TRY(joined, ops::apply(arena_, "concat", std::move(operands), axis));
        }
        found.push_back({std::move(box), joined});
      }
    }
    if (found.size() != 1 || found.front().box != wanted) return fail(ErrorCode::internal, "parts do not cover what is read");
    return found.front().value;
  }

  // An operand of a step: made by the part, or from outside.
  Result<ValueId> operand(std::unordered_map<ValueId, HeldValue>& made, ValueId from, const Box& wanted, const Box& asked) {
    if (arena_.is_absent(from)) return from;
    auto found = made.find(from);
    if (found == made.end()) {
      ValueId value = from;
      Box box = asked;
      const auto held = held_.find(from);
      const auto whole = whole_.find(from);
      if (held != held_.end() && whole != whole_.end()) {
        XFLOW_TRY(value, assemble(held->second, asked));
      } else if (held != held_.end()) {
        value = held->second.front().value;
      } else if (whole != whole_.end()) {
        XFLOW_TRY(value, slice(from, whole->second, asked));
      }
      found = made.emplace(from, HeldValue{std::move(box), value}).first;
    }
    return slice(found->second.value, found->second.box, wanted);
  }

  Result<void> add(std::uint32_t number) {
    const SplitOperator& op = model_.operators()[number];
    for (const auto* values : {&op.reads, &op.outputs})
      for (const std::uint32_t value : *values)
        if (model_.values()[value].is_sized) whole_.emplace(model_.values()[value].id, model_.values()[value].whole);
    std::map<Box, std::map<Interval, std::vector<HeldValue>>> terms;  // of results, by the terms of a reduction
    for (std::uint32_t part = 0; part < plan_[number].parts(); ++part) {
      const PlannedPart planned = planned_part(model_, number, plan_[number], part);
      const auto program = model_.program(number, planned.output, planned.terms);
      if (!program) return fail(ErrorCode::internal, "a part of the plan does not exist");
      std::unordered_map<ValueId, HeldValue> made;
      for (const PartStep& step : program->steps) XFLOW_CHECK(run(step, *program, made));
      auto& results = terms[planned.output][planned.terms.value_or(Interval{})];
      if (!results.empty()) continue;  // a copy
      for (const std::uint32_t value : op.outputs) results.push_back(made.at(model_.values()[value].id));
    }
    for (auto& [box, parts] : terms) {
      for (std::size_t k = 0; k < op.outputs.size(); ++k) {
        HeldValue sum = parts.begin()->second[k];
        for (auto next = std::next(parts.begin()); next != parts.end(); ++next) {
          XFLOW_TRY(sum.value, ops::apply(arena_, "add", {sum.value, next->second[k].value}));
        }
        held_[model_.values()[op.outputs[k]].id].push_back(std::move(sum));
      }
    }
    return {};
  }

  Result<void> run(const PartStep& step, const PartProgram& program, std::unordered_map<ValueId, HeldValue>& made) {
    const ir::Node node = arena_.node(step.node);
    std::vector<ValueId> operands;
    for (std::size_t k = 0; k < node.operands.size(); ++k) {
      const auto asked = program.boxes.find(node.operands[k]);
      XFLOW_TRY(const ValueId own, operand(made, node.operands[k], step.operands[k], asked == program.boxes.end() ? Box() : asked->second));
      operands.push_back(own);
    }
    ir::NodeId id{};
    if (node.kind == ir::NodeKind::opaque) {
      // An operator that is not known stays what it is. Its operands are whole.
      id = operands == node.operands ? step.node : arena_.opaque(node.serial, std::move(operands), node.outputs);
    } else {
      ir::Attributes attributes = node.attributes;
      if (step.part) {
        XFLOW_TRY(attributes, known_attributes(arena_.symbols(), step.part->attributes, model_.sizes()));
      }
      XFLOW_TRY(id, ops::apply(arena_, typing_, node.op, std::move(operands), std::move(attributes)));
    }
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
      const auto box = program.boxes.find({step.node, k});
      if (box != program.boxes.end()) made.insert_or_assign(ValueId{step.node, k}, HeldValue{box->second, {id, k}});
    }
    return {};
  }

  SplitModel& model_;
  ir::Arena& arena_;
  const SplitPlan& plan_;
  ops::Typing typing_;
  std::unordered_map<ValueId, std::vector<HeldValue>> held_;  // of results
  std::unordered_map<ValueId, Box> whole_;
};

}  // namespace

Result<ir::Graph> graph_of(SplitModel& model, const ir::Graph& graph, const SplitPlan& plan) {
  return GraphOfPlan(model, plan).make(graph);
}

}  // namespace xflow::parallel
