#include "src/parallel/part_program.h"

#include <algorithm>
#include <set>
#include <utility>

#include "src/kernels/node_launch.h"
#include "src/ops/operator.h"
#include "src/verifier/proof/proof.h"

namespace xflow::parallel {

using ir::NodeId;
using ir::Poly;
using ir::ValueId;

ValueId PartPrograms::with_variables(ValueId value) {
  const auto [found, is_new] = with_variables_.try_emplace(value.node, value.node);
  const ir::Node node = arena_.node(value.node);
  if (is_new && node.kind == ir::NodeKind::operation) {
    constexpr std::uint32_t kFirst = 1U << 31U;  // no input of a model has such a number
    std::vector<ValueId> operands = node.operands;
    for (std::uint32_t k = 0; k < operands.size(); ++k)
      if (!arena_.is_absent(operands[k])) operands[k] = arena_.input(arena_.type(operands[k]), kFirst + k);
    ops::Typing typing(arena_.symbols());
    const auto made = ops::apply(arena_, typing, node.op, std::move(operands), node.attributes);
    if (made && arena_.node(*made).outputs == node.outputs) found->second = *made;
  }
  return {found->second, value.output};
}

const std::vector<partition::SplitAxis>& PartPrograms::axes(ValueId own) {
  const ValueId value = with_variables(own);
  const auto [found, is_new] = axes_.try_emplace({value.node, value.output});
  if (is_new) found->second = partition::split_axes(arena_, value.node, static_cast<int>(value.output));
  return found->second;
}

std::string PartPrograms::obstacle(ValueId given, std::size_t axis) {
  const ValueId value = with_variables(given);
  const partition::SplitAxis& own = axes(value)[axis];
  if (own.obstacle) return *own.obstacle;
  if (!number(own.block) || !number(own.blocks)) return "its size is not known";
  const auto [found, is_new] = decided_.try_emplace({value.node, value.output, axis}, false);
  // A part of joined operands is proved with the operands in which it begins and ends.
  if (is_new) found->second = !own.joined.empty() || decide(value, axis);
  return found->second ? "" : "the verifier does not prove the split";
}

bool PartPrograms::claim(Result<rules::RuleInstance> instance) {
  ++claims_;
  if (!instance) return false;
  // No time limit: limits on steps alone end a proof, so that its result is the same in every run.
  verifier::Proof proof(*instance, verifier::Options{});
  const bool holds = !proof.unguarded_division() && !proof.failed_obligation() && proof.run();
  proved_ += holds ? 1 : 0;
  return holds;
}

bool PartPrograms::decide(ValueId value, std::size_t axis) {
  const auto output = static_cast<int>(value.output);
  const auto& all = axes(value);
  if (all[axis].is_reduction()) {
    const bool holds = claim(partition::reduction_claim(arena_, value.node, output, all, axis));
    if (!holds || !all[axis].table) return holds;
    return claim(partition::neighbours_claim(arena_, value.node, output, all, axis)) &&
           claim(partition::wrap_claim(arena_, value.node, output, all, axis));
  }
  for (const auto position : {partition::PartPosition::first, partition::PartPosition::middle, partition::PartPosition::last}) {
    const bool has_middle = number(all[axis].blocks).value_or(0) > 2;
    if (position == partition::PartPosition::middle && !has_middle) continue;
    const std::vector<partition::PlacedAxis> placed = {{axis, position}};
    if (!claim(partition::part_claim(arena_, value.node, output, all, placed))) return false;
  }
  return true;
}

bool PartPrograms::holds_together(ValueId given, std::span<const partition::AxisPart> parts) {
  const ValueId value = with_variables(given);
  const auto is_joined = [&](const partition::AxisPart& part) { return !axes(value)[part.axis].joined.empty(); };
  if (parts.empty() || (parts.size() < 2 && !is_joined(parts[0]))) return true;
  Together key;
  for (const partition::AxisPart& part : parts) {
    const auto position = part.is_first  ? partition::PartPosition::first
                          : part.is_last ? partition::PartPosition::last
                                         : partition::PartPosition::middle;
    if (axes(value)[part.axis].is_reduction())
      key.second = part.axis;
    else if (is_joined(part))
      key.first.push_back({part.axis, partition::PartPosition::middle, part.from, part.to});
    else
      key.first.push_back({part.axis, position});
  }
  const auto [found, is_new] = together_.try_emplace({value, key}, true);
  if (!is_new) return found->second;
  const auto output = static_cast<int>(value.output);
  bool holds = (key.first.size() < 2 && key.second) || claim(partition::part_claim(arena_, value.node, output, axes(value), key.first));
  if (key.second) holds = holds && claim(partition::part_reduction_claim(arena_, value.node, output, axes(value), key.first, *key.second));
  together_[{value, key}] = holds;
  return holds;
}

std::optional<Box> PartPrograms::whole(ValueId value) const {
  const auto tensor = cost::tensor_of(arena_, value, sizes_);
  if (!tensor) return std::nullopt;
  Box box;
  for (const std::int64_t dim : tensor->dims) box.push_back({0, dim});
  return box;
}

// Finds the joined operands in which a part begins and ends; false if their sizes are not known.
bool PartPrograms::find_operands(const std::vector<partition::JoinedOperand>& joined, const Interval& part,
                                 partition::AxisPart& into) const {
  std::size_t found = 0;
  for (std::size_t k = 0; k < joined.size(); ++k) {
    const auto begin = number(joined[k].begin);
    const auto size = number(joined[k].size);
    if (!begin || !size) return false;
    const auto has = [&](std::int64_t element) { return element >= *begin && element < *begin + *size; };
    if (has(part.begin)) into.from = k;
    if (has(part.end - 1)) into.to = k;
    found += (has(part.begin) ? 1U : 0U) + (has(part.end - 1) ? 1U : 0U);
  }
  return found == 2;
}

// The parts of axes at a box of a value; nullopt if one of them is no split.
std::optional<std::vector<partition::AxisPart>> PartPrograms::parts_of(ValueId value, const Box& box,
                                                                       const std::optional<PartTerms>& terms) {
  std::vector<partition::AxisPart> parts;
  const auto whole = this->whole(value);
  if (arena_.node(value).kind != ir::NodeKind::operation || !whole) return parts;
  const auto& all = axes(value);
  for (std::size_t d = 0; d < box.size(); ++d) {
    if (box[d] == (*whole)[d]) continue;
    if (!obstacle(value, d).empty()) return std::nullopt;
    const std::int64_t block = *number(all[d].block);
    if (box[d].begin % block != 0 || box[d].end % block != 0) return std::nullopt;
    parts.push_back({d, Poly(box[d].begin / block), Poly(box[d].size() / block), box[d].begin == 0, box[d].end == (*whole)[d].end});
    if (!all[d].joined.empty() && !find_operands(all[d].joined, box[d], parts.back())) return std::nullopt;
  }
  if (terms) {
    const Interval& own = terms->terms;
    parts.push_back({terms->axis, Poly(own.begin), Poly(own.size()), own.begin == 0, own.end == number(all[terms->axis].blocks)});
  }
  return parts;
}

std::optional<PartStep> PartPrograms::step(NodeId id, const PartProgram& program, const std::optional<PartTerms>& terms) {
  const ir::Node& node = arena_.node(id);
  PartStep step{id, std::nullopt, std::vector<Box>(node.operands.size())};
  bool is_first = true;
  for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
    const auto asked = program.boxes.find({id, k});
    if (asked == program.boxes.end()) continue;
    const auto parts = parts_of({id, k}, asked->second, terms);
    if (!parts || !holds_together({id, k}, *parts)) return std::nullopt;
    std::optional<partition::PartOperation> own;
    if (!parts->empty()) {
      auto made = partition::part_operation(arena_, id, axes({id, k}), *parts);
      if (!made) return std::nullopt;
      own = *std::move(made);
    }
    // One operation has to compute all results that are asked for.
    if (!is_first && own != step.part) return std::nullopt;
    step.part = std::move(own);
    is_first = false;
  }
  for (std::size_t k = 0; k < node.operands.size(); ++k) {
    if (arena_.is_absent(node.operands[k]) || !step.reads(k)) continue;
    if (auto all = whole(node.operands[k])) step.operands[k] = *std::move(all);
  }
  if (!step.part) return step;
  for (const partition::OperandRange& range : step.part->ranges) {
    const auto start = number(range.start);
    const auto size = number(range.size);
    Interval& own = step.operands[static_cast<std::size_t>(range.operand)][static_cast<std::size_t>(range.dimension)];
    if (!start || !size || *start < 0 || *size < 1 || *start + *size > own.end) return std::nullopt;
    own = {*start, *start + *size};
  }
  return step;
}

std::optional<PartProgram> PartPrograms::program(std::span<const NodeId> operations, std::span<const std::pair<ValueId, Box>> results,
                                                 const std::optional<PartTerms>& terms) {
  PartProgram program;
  const auto ask = [&](ValueId value, const Box& box) {
    const auto [found, is_new] = program.boxes.emplace(value, box);
    if (!is_new) widen(found->second, box);
  };
  for (const auto& [value, box] : results) ask(value, box);
  for (std::size_t position = operations.size(); position-- > 0;) {
    const ir::Node& node = arena_.node(operations[position]);
    bool is_asked = false;
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k) is_asked = is_asked || program.boxes.contains({operations[position], k});
    if (!is_asked) continue;
    const bool is_reduced = terms && terms->position == position;
    auto made = step(operations[position], program, is_reduced ? terms : std::nullopt);
    if (!made) return std::nullopt;
    for (std::size_t k = 0; k < node.operands.size(); ++k)
      if (!arena_.is_absent(node.operands[k]) && made->reads(k)) ask(node.operands[k], made->operands[k]);
    program.steps.push_back(*std::move(made));
  }
  std::ranges::reverse(program.steps);
  return program;
}

SummedProgram divided_at_sum(const ir::Arena& arena, const PartProgram& program, NodeId reduced) {
  SummedProgram divided;
  divided.sum = {reduced, 0};
  // Operations that both need are in both.
  const auto needed_by = [&](std::set<NodeId> needed, PartProgram& into) {
    for (auto step = program.steps.rbegin(); step != program.steps.rend(); ++step) {
      if (!needed.contains(step->node)) continue;
      into.steps.push_back(*step);
      for (const ValueId operand : arena.node(step->node).operands)
        if (operand.node != reduced) needed.insert(operand.node);
    }
    std::ranges::reverse(into.steps);
    into.boxes = program.boxes;
  };
  needed_by({reduced}, divided.terms);
  std::set<NodeId> after = {reduced};
  for (const PartStep& step : program.steps) {
    const auto& operands = arena.node(step.node).operands;
    if (std::ranges::any_of(operands, [&](ValueId operand) { return after.contains(operand.node); })) after.insert(step.node);
  }
  after.erase(reduced);
  needed_by(std::move(after), divided.after);
  return divided;
}

Result<ir::Attributes> known_attributes(const ir::Symbols& symbols, const ir::Attributes& attributes, const ir::Symbols::Valuation& sizes) {
  const auto evaluate = [&](Poly& poly) -> Result<void> {
    const auto known = symbols.evaluate(poly, sizes);
    if (!known) return fail(ErrorCode::unsupported, "an attribute is not known");
    poly = *known;
    return {};
  };
  ir::Attributes result;
  for (const ir::Attribute& attribute : attributes.list()) {
    ir::AttributeValue value = attribute.value;
    if (auto* poly = std::get_if<Poly>(&value)) {
      XFLOW_CHECK(evaluate(*poly));
    } else if (auto* list = std::get_if<std::vector<Poly>>(&value)) {
      for (Poly& own : *list) XFLOW_CHECK(evaluate(own));
    }
    result.set(attribute.name, std::move(value));
  }
  return result;
}

Result<partition::PartOperation> known_part(const ir::Arena& arena, const PartStep& step, const ir::Symbols::Valuation& sizes) {
  const ir::Symbols& symbols = arena.symbols();
  partition::PartOperation part = step.part.value_or(partition::PartOperation{});
  XFLOW_TRY(part.attributes, known_attributes(symbols, step.part ? part.attributes : arena.node(step.node).attributes, sizes));
  if (part.share) {
    const auto terms = symbols.evaluate(part.share->terms, sizes);
    const auto all = symbols.evaluate(part.share->all, sizes);
    if (!terms || !all) return fail(ErrorCode::unsupported, "the number of terms of a mean is not known");
    part.share = partition::TermShare{*terms, *all};
  }
  if (part.rows) {
    const auto begin = symbols.evaluate(part.rows->begin, sizes);
    const auto size = symbols.evaluate(part.rows->size, sizes);
    const auto all = symbols.evaluate(part.rows->all, sizes);
    if (!begin || !size || !all) return fail(ErrorCode::unsupported, "the number of rows of a table is not known");
    part.rows->begin = *begin;
    part.rows->size = *size;
    part.rows->all = *all;
  }
  return part;
}

}  // namespace xflow::parallel
