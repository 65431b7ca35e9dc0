#include "src/partition/part.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace xflow::partition {
namespace {

using ir::Poly;

// The attributes that say how far windows reach over the ends of an operand, or where a slice starts.
class EndAttributes {
 public:
  EndAttributes(ir::Attributes& attributes, std::size_t dimension) : attributes_(attributes), dimension_(dimension) {}

  void clear_begin() {
    clear("begins", dimension_);
    clear("starts", dimension_);
    if (dimension_ >= 2) clear("pads", dimension_ - 2);
  }
  void clear_end() {
    clear("ends", dimension_);
    const auto* pads = attributes_.find("pads");
    if (pads != nullptr && dimension_ >= 2) clear("pads", std::get<std::vector<Poly>>(*pads).size() / 2 + dimension_ - 2);
  }

 private:
  void clear(std::string_view name, std::size_t at) {
    const auto* found = attributes_.find(name);
    if (found == nullptr) return;
    std::vector<Poly> list = std::get<std::vector<Poly>>(*found);
    if (at < list.size()) list[at] = 0;
    attributes_.set(name, std::move(list));
  }

  ir::Attributes& attributes_;
  const std::size_t dimension_;
};

// Sets what depends on the size of the output along `dimension`.
void set_size(ir::Attributes& attributes, const ir::Shape& output, std::size_t dimension, const Poly& size) {
  for (const std::string_view name : {"shape", "sizes"}) {
    const auto* found = attributes.find(name);
    if (found == nullptr) continue;
    std::vector<Poly> list = std::get<std::vector<Poly>>(*found);
    if (list.size() != output.size() || !(list[dimension] == output[dimension])) continue;
    list[dimension] = size;
    attributes.set(name, std::move(list));
  }
}

// The integer as a scalar of a type: a sum of ones.
Result<ir::ValueId> scalar_of(ir::Arena& arena, ops::Typing& typing, const Poly& number, ir::DataType type) {
  ir::Attributes ones{{"value", ir::Real(1)}, {"shape", std::vector<Poly>{number}}, {"data_type", type}};
  XFLOW_TRY(const ir::NodeId list, ops::apply(arena, typing, ops::id_of("full"), {}, std::move(ones)));
  ir::Attributes all{{"axes", std::vector<Poly>{0}}, {"keep_dims", Poly(0)}};
  XFLOW_TRY(const ir::NodeId sum, ops::apply(arena, typing, ops::id_of("reduce_sum"), {{list, 0}}, std::move(all)));
  return ir::ValueId{sum, 0};
}

// The integer as a scalar of an integer type: a constant, unless it is to be an operation.
Result<ir::ValueId> integer_of(ir::Arena& arena, ops::Typing& typing, const Poly& number, ir::DataType type, bool is_operation) {
  const auto known = number.constant();
  if (known && !is_operation) return arena.constant(ir::make_integer_constant(type, {}, {&*known, 1}));
  ir::Attributes attributes{{"start", number}, {"size", Poly(1)}, {"data_type", type}};
  XFLOW_TRY(const ir::NodeId list, ops::apply(arena, typing, ops::id_of("range"), {}, std::move(attributes)));
  XFLOW_TRY(const ir::NodeId scalar, ops::apply(arena, typing, ops::id_of("reshape"), {{list, 0}}, {{"shape", std::vector<Poly>()}}));
  return ir::ValueId{scalar, 0};
}

// The operation at rows of its table. With w = index mod all and s = w - begin, the row is s mod size, and
// counts where 0 <= s < size, of which one holds at an end of the table.
Result<ir::NodeId> apply_rows(ir::Arena& arena, ops::Typing& typing, ir::OperatorId op, const PartOperation& part,
                              std::vector<ir::ValueId> operands) {
  const TableRows& rows = *part.rows;
  ir::ValueId& index = operands[static_cast<std::size_t>(rows.indices)];
  const ir::TensorType type = arena.type(index);
  const auto make = [&](const char* name, std::vector<ir::ValueId> own, ir::Attributes attributes = {}) -> Result<ir::ValueId> {
    XFLOW_TRY(const ir::NodeId node, ops::apply(arena, typing, ops::id_of(name), std::move(own), std::move(attributes)));
    return ir::ValueId{node, 0};
  };
  // The verifier knows integers that operations compute.
  const bool is_open = !rows.begin.constant() || !rows.size.constant() || !rows.all.constant();
  const auto integer = [&](const Poly& number) { return integer_of(arena, typing, number, type.data_type, is_open); };
  XFLOW_TRY(const ir::ValueId size, integer(rows.size));
  ir::ValueId shifted = index;
  if (rows.wraps) {
    XFLOW_TRY(shifted, wrapped_indices(arena, typing, shifted, rows.all, is_open));
  }
  if (!rows.is_first) {
    XFLOW_TRY(const ir::ValueId begin, integer(rows.begin));
    XFLOW_TRY(shifted, make("sub", {shifted, begin}));
  }
  XFLOW_TRY(index, make("mod", {shifted, size}));
  std::optional<ir::ValueId> is_own;
  if (!rows.is_first) {
    XFLOW_TRY(const ir::ValueId below, integer(-1));
    XFLOW_TRY(is_own, make("less", {below, shifted}));
  }
  if (!rows.is_last) {
    XFLOW_TRY(const ir::ValueId not_after, make("less", {shifted, size}));
    if (is_own) {
      XFLOW_TRY(is_own, make("and", {*is_own, not_after}));
    } else {
      is_own = not_after;
    }
  }
  std::vector<Poly> shape(type.shape.begin(), type.shape.end());
  shape.insert(shape.end(), rows.after, Poly(1));
  XFLOW_TRY(const ir::ValueId mask, make("reshape", {*is_own}, {{"shape", std::move(shape)}}));
  XFLOW_TRY(const ir::NodeId found, ops::apply(arena, typing, op, std::move(operands), part.attributes));
  XFLOW_TRY(ir::Constant zero, ir::make_constant(arena.type({found, 0}).data_type, {}, std::vector<double>{0}));
  return ops::apply(arena, typing, ops::id_of("select"), {mask, {found, 0}, arena.constant(std::move(zero))}, {});
}

// The share of the terms: a constant if it is known.
Result<ir::ValueId> factor_of(ir::Arena& arena, ops::Typing& typing, const TermShare& share, ir::DataType type) {
  const auto terms = share.terms.constant();
  const auto all = share.all.constant();
  if (terms && all) {
    const std::vector<double> factor = {static_cast<double>(*terms) / static_cast<double>(*all)};
    XFLOW_TRY(ir::Constant constant, ir::make_constant(type, {}, factor));
    return arena.constant(std::move(constant));
  }
  XFLOW_TRY(const ir::ValueId numerator, scalar_of(arena, typing, share.terms, type));
  XFLOW_TRY(const ir::ValueId denominator, scalar_of(arena, typing, share.all, type));
  XFLOW_TRY(const ir::NodeId factor, ops::apply(arena, typing, ops::id_of("div"), {numerator, denominator}, {}));
  return ir::ValueId{factor, 0};
}

// What a part of joined operands reads of them.
void add_joined(const SplitAxis& axis, const AxisPart& part, PartOperation& into) {
  for (std::size_t k = 0; k < axis.joined.size(); ++k) {
    const JoinedOperand& own = axis.joined[k];
    if (k < part.from || k > part.to) {
      into.unread.push_back(own.operand);
      continue;
    }
    const Poly start = k == part.from ? part.begin - own.begin : Poly(0);
    const Poly end = k == part.to ? part.begin + part.count - own.begin : own.size;
    if (!start.is_zero() || !(end == own.size)) into.ranges.push_back({own.operand, own.dimension, start, end - start});
  }
}

}  // namespace

Result<PartOperation> part_operation(const ir::Arena& arena, ir::NodeId id, std::span<const SplitAxis> axes,
                                     std::span<const AxisPart> parts) {
  const ir::Node& node = arena.node(id);
  PartOperation result;
  result.attributes = node.attributes;
  for (const AxisPart& part : parts) {
    if (part.is_first && part.is_last) continue;
    const SplitAxis& axis = axes[part.axis];
    if (axis.obstacle) return fail(ErrorCode::unsupported, *axis.obstacle);
    if (!axis.joined.empty()) add_joined(axis, part, result);
    for (const FollowedDimension& own : axis.followed) {
      const Poly& size = arena.type(node.operands[static_cast<std::size_t>(own.operand)]).shape[static_cast<std::size_t>(own.dimension)];
      const Poly start = part.is_first ? Poly(0) : own.stride * part.begin + own.low;
      const Poly end = part.is_last ? size : own.stride * (part.begin + part.count - 1) + own.high + 1;
      result.ranges.push_back({own.operand, own.dimension, start, end - start});
    }
    if (axis.kind == AxisKind::mean) result.share = TermShare{part.count, axis.blocks};
    if (axis.table)
      result.rows = TableRows{axis.table->indices, axis.table->after, part.begin, part.count, axis.blocks, part.is_first, part.is_last};
    if (axis.is_reduction()) continue;
    const auto dimension = static_cast<std::size_t>(axis.dimension);
    EndAttributes ends(result.attributes, dimension);
    if (!part.is_first) ends.clear_begin();
    if (!part.is_last) ends.clear_end();
    set_size(result.attributes, node.outputs[0].shape, dimension, axis.block * part.count);
    // Groups are blocks of the channels.
    if (dimension == 1 && result.attributes.has("groups") && !result.attributes.integer("groups").is_one())
      result.attributes.set("groups", part.count);
  }
  const auto is_unread = [&](const OperandRange& range) { return std::ranges::find(result.unread, range.operand) != result.unread.end(); };
  std::erase_if(result.ranges, is_unread);
  std::ranges::sort(result.ranges, {}, [](const OperandRange& range) { return std::pair(range.operand, range.dimension); });
  const auto twice = std::ranges::adjacent_find(
      result.ranges, [](const OperandRange& a, const OperandRange& b) { return a.operand == b.operand && a.dimension == b.dimension; });
  if (twice != result.ranges.end())
    return fail(ErrorCode::unsupported, fmt::format("operand {} is read along two axes in one dimension", twice->operand));
  return result;
}

Result<ir::ValueId> wrapped_indices(ir::Arena& arena, ops::Typing& typing, ir::ValueId indices, const Poly& rows, bool is_open) {
  XFLOW_TRY(const ir::ValueId all, integer_of(arena, typing, rows, arena.type(indices).data_type, is_open));
  XFLOW_TRY(const ir::NodeId wrapped, ops::apply(arena, typing, ops::id_of("mod"), {indices, all}, {}));
  return ir::ValueId{wrapped, 0};
}

Result<ir::NodeId> apply_part(ir::Arena& arena, ops::Typing& typing, ir::OperatorId op, const PartOperation& part,
                              std::vector<ir::ValueId> operands) {
  for (auto unread = part.unread.rbegin(); unread != part.unread.rend(); ++unread) operands.erase(operands.begin() + *unread);
  if (part.rows) return apply_rows(arena, typing, op, part, std::move(operands));
  XFLOW_TRY(const ir::NodeId plain, ops::apply(arena, typing, op, std::move(operands), part.attributes));
  if (!part.share) return plain;
  XFLOW_TRY(const ir::ValueId factor, factor_of(arena, typing, *part.share, arena.type({plain, 0}).data_type));
  return ops::apply(arena, typing, ops::id_of("mul"), {{plain, 0}, factor}, {});
}

Result<ir::NodeId> add_part(ir::Arena& arena, ops::Typing& typing, ir::OperatorId op, const PartOperation& part,
                            std::vector<ir::ValueId> operands) {
  for (std::size_t first = 0; first < part.ranges.size();) {
    const int number = part.ranges[first].operand;
    ir::ValueId& operand = operands[static_cast<std::size_t>(number)];
    const ir::Shape& shape = arena.type(operand).shape;
    std::vector<Poly> starts(shape.size(), Poly(0));
    std::vector<Poly> sizes(shape.begin(), shape.end());
    for (; first < part.ranges.size() && part.ranges[first].operand == number; ++first) {
      const auto dimension = static_cast<std::size_t>(part.ranges[first].dimension);
      starts[dimension] = part.ranges[first].start;
      sizes[dimension] = part.ranges[first].size;
    }
    std::vector<Poly> steps(shape.size(), Poly(1));
    ir::Attributes attributes{{"starts", std::move(starts)}, {"sizes", std::move(sizes)}, {"steps", std::move(steps)}};
    XFLOW_TRY(const ir::NodeId slice, ops::apply(arena, typing, ops::id_of("slice"), {operand}, std::move(attributes)));
    operand = {slice, 0};
  }
  return apply_part(arena, typing, op, part, std::move(operands));
}

}  // namespace xflow::partition
