#include "src/partition/split_proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "src/ops/operator.h"

namespace xflow::partition {
namespace {

using ir::Poly;
using ir::SymbolKind;
using ir::ValueId;

// Lists what typing requires.
class Recorder final : public ops::Typing {
 public:
  Recorder(ir::Symbols& symbols, std::vector<rules::Fact>& list) : Typing(symbols), list_(list) {}

  Result<void> require_equal(const Poly& a, const Poly& b, std::string_view what) override {
    XFLOW_CHECK(Typing::require_equal(a, b, what));
    if (!(a == b)) list_.push_back({ops::equal(a, b), std::string(what)});
    return {};
  }
  Result<void> require_at_least_zero(const Poly& a, std::string_view what) override {
    XFLOW_CHECK(Typing::require_at_least_zero(a, what));
    if (symbols().lower_bound(a).value_or(-1) < 0) list_.push_back({{a, ops::Relation::at_least_zero}, std::string(what)});
    return {};
  }

 private:
  std::vector<rules::Fact>& list_;
};

class Claim {
 public:
  Claim(const ir::Arena& from, ir::NodeId node, int output, std::span<const SplitAxis> axes)
      : from_(from), node_(from.node(node)), id_(node), output_(static_cast<std::uint32_t>(output)), axes_(axes) {
    claim_.arena = std::make_unique<ir::Arena>(from.shared_symbols());
  }

  Result<rules::RuleInstance> of_part(std::span<const PlacedAxis> placed) {
    add_variables(nullptr, 0);
    std::vector<AxisPart> parts;
    for (const PlacedAxis& own : placed) parts.push_back(place(own));
    XFLOW_TRY(const PartOperation part, part_operation(from_, id_, axes_, parts));
    guard(part);
    Recorder typing(symbols(), claim_.facts);
    XFLOW_TRY(const ir::NodeId whole, ops::apply(arena(), typing, node_.op, operands_, node_.attributes));
    const ir::Shape& shape = node_.outputs[output_].shape;
    std::vector<Poly> starts(shape.size(), Poly(0));
    std::vector<Poly> sizes(shape.begin(), shape.end());
    for (const AxisPart& own : parts) {
      const SplitAxis& axis = axes_[own.axis];
      starts[static_cast<std::size_t>(axis.dimension)] = axis.block * own.begin;
      sizes[static_cast<std::size_t>(axis.dimension)] = axis.block * own.count;
    }
    std::vector<Poly> steps(shape.size(), Poly(1));
    ir::Attributes attributes{{"starts", std::move(starts)}, {"sizes", std::move(sizes)}, {"steps", std::move(steps)}};
    XFLOW_TRY(const ir::NodeId source, ops::apply(arena(), typing, ops::id_of("slice"), {ValueId{whole, output_}}, std::move(attributes)));
    std::vector<rules::Fact> required;
    Recorder of_target(symbols(), required);
    XFLOW_TRY(const ir::NodeId target, add_part(arena(), of_target, node_.op, part, operands_));
    return finish({source, 0}, {target, output_}, std::move(required));
  }

  Result<rules::RuleInstance> of_reduction(std::size_t number) {
    SplitAxis axis = axes_[number];
    const Poly cut = symbols().fresh(SymbolKind::dimension, "m") + least(axis);
    const Poly rest = symbols().fresh(SymbolKind::dimension, "n") + least(axis);
    for (const Poly& size : {cut, rest})
      if (symbols().lower_bound(size).value_or(-1) < 1) claim_.facts.push_back({ops::at_least(size, 1), "a part has terms"});
    axis.blocks = cut + rest;
    add_variables(&axis, axis.blocks);
    add_range(axis);
    Recorder typing(symbols(), claim_.facts);
    XFLOW_TRY(const ir::NodeId whole, ops::apply(arena(), typing, node_.op, operands_, node_.attributes));
    std::vector<rules::Fact> required;
    Recorder of_target(symbols(), required);
    std::vector<ValueId> terms;
    for (const bool is_first : {true, false}) {
      const AxisPart own{0, is_first ? Poly(0) : cut, is_first ? cut : rest, is_first, !is_first};
      XFLOW_TRY(PartOperation part, part_operation(arena(), whole, {{axis}}, {{own}}));
      if (part.rows) part.rows->wraps = false;
      XFLOW_TRY(const ir::NodeId term, add_part(arena(), of_target, node_.op, part, operands_));
      terms.push_back({term, output_});
    }
    const char* const combine = combining_operator(axis.kind);
    XFLOW_TRY(const ir::NodeId target, ops::apply(arena(), of_target, ops::id_of(combine), std::move(terms), {}));
    return finish({whole, output_}, {target, 0}, std::move(required));
  }

  // The operation at indices that are not negative.
  Result<rules::RuleInstance> of_wrap(std::size_t number) {
    SplitAxis axis = axes_[number];
    axis.blocks = symbols().fresh(SymbolKind::dimension, "v") + least(axis);
    add_variables(&axis, axis.blocks);
    Recorder typing(symbols(), claim_.facts);
    XFLOW_TRY(const ir::NodeId source, ops::apply(arena(), typing, node_.op, operands_, node_.attributes));
    std::vector<rules::Fact> required;
    Recorder of_target(symbols(), required);
    std::vector<ValueId> operands = operands_;
    XFLOW_TRY(operands[static_cast<std::size_t>(axis.table->indices)],
              wrapped_indices(arena(), of_target, operands[static_cast<std::size_t>(axis.table->indices)], axis.blocks, true));
    XFLOW_TRY(const ir::NodeId target, ops::apply(arena(), of_target, node_.op, std::move(operands), node_.attributes));
    return finish({source, output_}, {target, output_}, std::move(required));
  }

  Result<rules::RuleInstance> of_neighbours(std::size_t number) {
    SplitAxis axis = axes_[number];
    const Poly begin = symbols().fresh(SymbolKind::dimension, "b") + least(axis);
    const Poly cut = symbols().fresh(SymbolKind::dimension, "m") + least(axis);
    const Poly rest = symbols().fresh(SymbolKind::dimension, "n") + least(axis);
    axis.blocks = begin + cut + rest;
    add_variables(&axis, axis.blocks);
    add_range(axis);
    Recorder typing(symbols(), claim_.facts);
    XFLOW_TRY(const ir::NodeId whole, ops::apply(arena(), typing, node_.op, operands_, node_.attributes));
    const auto add = [&](ops::Typing& own, const Poly& from, const Poly& count, bool is_last) -> Result<ValueId> {
      const AxisPart part{0, from, count, false, is_last};
      XFLOW_TRY(PartOperation operation, part_operation(arena(), whole, {{axis}}, {{part}}));
      if (operation.rows) operation.rows->wraps = false;
      XFLOW_TRY(const ir::NodeId made, add_part(arena(), own, node_.op, operation, operands_));
      return ValueId{made, output_};
    };
    XFLOW_TRY(const ValueId both, add(typing, begin, cut + rest, true));
    std::vector<rules::Fact> required;
    Recorder of_target(symbols(), required);
    XFLOW_TRY(const ValueId first, add(of_target, begin, cut, false));
    XFLOW_TRY(const ValueId second, add(of_target, begin + cut, rest, true));
    XFLOW_TRY(const ir::NodeId target, ops::apply(arena(), of_target, ops::id_of(combining_operator(axis.kind)), {first, second}, {}));
    return finish(both, {target, 0}, std::move(required));
  }

  // The reduction of a part, which is an operation of its own.
  Result<rules::RuleInstance> of_part_reduction(std::span<const PlacedAxis> placed, std::size_t number) {
    std::vector<AxisPart> parts;
    for (const PlacedAxis& own : placed) parts.push_back(place(own));
    XFLOW_TRY(const PartOperation part, part_operation(from_, id_, axes_, parts));
    ir::Arena whole(from_.shared_symbols());
    std::vector<ValueId> operands;
    for (std::size_t k = 0; k < node_.operands.size(); ++k) {
      if (from_.is_absent(node_.operands[k])) {
        operands.push_back(whole.absent());
        continue;
      }
      ir::TensorType type = from_.type(node_.operands[k]);
      for (const OperandRange& range : part.ranges)
        if (range.operand == static_cast<int>(k)) type.shape[static_cast<std::size_t>(range.dimension)] = range.size;
      operands.push_back(whole.input(std::move(type), static_cast<std::uint32_t>(k)));
    }
    ops::Typing typing(whole.symbols());
    XFLOW_TRY(const ir::NodeId node, ops::apply(whole, typing, node_.op, std::move(operands), part.attributes));
    const std::vector<SplitAxis> axes = split_axes(whole, node, static_cast<int>(output_));
    for (std::size_t k = 0; k < axes.size(); ++k) {
      if (axes[k].kind != axes_[number].kind || axes[k].dimension != axes_[number].dimension || axes[k].obstacle) continue;
      XFLOW_TRY(rules::RuleInstance claim, Claim(whole, node, static_cast<int>(output_), axes).of_reduction(k));
      claim.facts.insert(claim.facts.end(), claim_.facts.begin(), claim_.facts.end());
      return claim;
    }
    return fail(ErrorCode::unsupported, "a part of the operation has no such reduction");
  }

 private:
  ir::Arena& arena() { return *claim_.arena; }
  ir::Symbols& symbols() { return arena().symbols(); }

  // What is added to a size of at least 0, which a part of a reduction has: rows are divided by the number
  // of rows, which has to be seen as positive. Means are simplest without.
  static Poly least(const SplitAxis& axis) { return axis.table ? 1 : 0; }

  // Indices of rows are not negative: of_wrap has those that are.
  void add_range(const SplitAxis& axis) {
    if (!axis.table) return;
    const ValueId indices = operands_[static_cast<std::size_t>(axis.table->indices)];
    claim_.value_facts.push_back({indices, rules::ValueFact::Kind::in_range, 0, axis.blocks});
  }

  // The operands as variables. The dimensions that a reduction follows have `length`.
  void add_variables(const SplitAxis* reduction, const Poly& length) {
    for (std::size_t k = 0; k < node_.operands.size(); ++k) {
      const ValueId operand = node_.operands[k];
      if (from_.is_absent(operand)) {
        operands_.push_back(arena().absent());
        continue;
      }
      ir::TensorType type = from_.type(operand);
      for (std::size_t d = 0; reduction != nullptr && d < type.shape.size(); ++d)
        if (reduction->find(static_cast<int>(k), static_cast<int>(d)) != nullptr) type.shape[d] = length;
      // Claims on rows are about any number of indices: one index is read without its position.
      for (Poly& size : type.shape)
        if (reduction != nullptr && reduction->table && reduction->table->indices == static_cast<int>(k) && size.is_one())
          size = symbols().fresh(SymbolKind::dimension, "d");
      operands_.push_back(arena().input(std::move(type), static_cast<std::uint32_t>(k)));
      claim_.variables.push_back(operands_.back());
      claim_.variable_names.push_back(fmt::format("x{}", k));
    }
  }

  AxisPart place(const PlacedAxis& own) {
    if (!axes_[own.axis].joined.empty()) return place_in(axes_[own.axis].joined, own);
    const Poly& blocks = axes_[own.axis].blocks;
    const Poly begin = own.place == PartPosition::first ? Poly(0) : Poly(symbols().fresh(SymbolKind::dimension, "b"));
    if (own.place == PartPosition::last) {
      claim_.facts.push_back({ops::at_least(blocks, begin + 1), "a part begins before the axis ends"});
      return {own.axis, begin, blocks - begin, false, true};
    }
    const Poly count = symbols().fresh(SymbolKind::dimension, "n");
    claim_.facts.push_back({ops::at_least(blocks, begin + count + 1), "a part ends before the axis does"});
    return {own.axis, begin, count, own.place == PartPosition::first, false};
  }

  // A part of joined operands.
  AxisPart place_in(const std::vector<JoinedOperand>& joined, const PlacedAxis& own) {
    const Poly begin = symbols().fresh(SymbolKind::dimension, "b");
    const Poly count = symbols().fresh(SymbolKind::dimension, "n");
    const auto is_in = [&](const Poly& element, const JoinedOperand& operand, const char* what) {
      claim_.facts.push_back({ops::at_least(element, operand.begin), what});
      claim_.facts.push_back({ops::less_than(element, operand.begin + operand.size), what});
    };
    is_in(begin, joined[own.from], "the operand in which a part begins");
    is_in(begin + count - 1, joined[own.to], "the operand in which a part ends");
    return {own.axis, begin, count, false, false, own.from, own.to};
  }

  // The ranges of the operands are in them.
  void guard(const PartOperation& part) {
    for (const OperandRange& range : part.ranges) {
      const Poly& size =
          from_.type(node_.operands[static_cast<std::size_t>(range.operand)]).shape[static_cast<std::size_t>(range.dimension)];
      for (const Poly& least : {range.start, range.size - 1, size - range.start - range.size})
        if (symbols().lower_bound(least).value_or(-1) < 0)
          claim_.facts.push_back({{least, ops::Relation::at_least_zero}, "a range is in its operand"});
    }
  }

  Result<rules::RuleInstance> finish(ValueId source, ValueId target, std::vector<rules::Fact> required) {
    const auto same = [](const ops::Atom& a, const ops::Atom& b) { return a.relation == b.relation && a.poly == b.poly; };
    for (rules::Fact& fact : required) {
      if (std::ranges::none_of(claim_.facts, [&](const rules::Fact& known) { return same(known.atom, fact.atom); }))
        claim_.obligations.push_back(std::move(fact));
    }
    const ir::TensorType& from = arena().type(source);
    const ir::TensorType& to = arena().type(target);
    if (from.data_type != to.data_type || !to.ranked || from.rank() != to.rank())
      return fail(ErrorCode::ill_typed,
                  fmt::format("the part is {}, its operation gives {}", ir::to_string(symbols(), from), ir::to_string(symbols(), to)));
    for (std::size_t k = 0; k < from.rank(); ++k)
      if (!(from.shape[k] == to.shape[k]))
        claim_.obligations.push_back({ops::equal(from.shape[k], to.shape[k]), fmt::format("size {} is the same", k)});
    claim_.source.outputs = {source};
    claim_.target.outputs = {target};
    return std::move(claim_);
  }

  const ir::Arena& from_;
  const ir::Node& node_;
  const ir::NodeId id_;
  const std::uint32_t output_;
  const std::span<const SplitAxis> axes_;
  rules::RuleInstance claim_;
  std::vector<ValueId> operands_;
};

}  // namespace

Result<rules::RuleInstance> part_claim(const ir::Arena& arena, ir::NodeId node, int output, std::span<const SplitAxis> axes,
                                       std::span<const PlacedAxis> placed) {
  return Claim(arena, node, output, axes).of_part(placed);
}

Result<rules::RuleInstance> part_reduction_claim(const ir::Arena& arena, ir::NodeId node, int output, std::span<const SplitAxis> axes,
                                                 std::span<const PlacedAxis> placed, std::size_t axis) {
  return Claim(arena, node, output, axes).of_part_reduction(placed, axis);
}

Result<rules::RuleInstance> wrap_claim(const ir::Arena& arena, ir::NodeId node, int output, std::span<const SplitAxis> axes,
                                       std::size_t axis) {
  return Claim(arena, node, output, axes).of_wrap(axis);
}

Result<rules::RuleInstance> neighbours_claim(const ir::Arena& arena, ir::NodeId node, int output, std::span<const SplitAxis> axes,
                                             std::size_t axis) {
  return Claim(arena, node, output, axes).of_neighbours(axis);
}

Result<rules::RuleInstance> reduction_claim(const ir::Arena& arena, ir::NodeId node, int output, std::span<const SplitAxis> axes,
                                            std::size_t axis) {
  return Claim(arena, node, output, axes).of_reduction(axis);
}

}  // namespace xflow::partition
