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
    for (const FollowedDimension& own : axis.followed) {
      const Poly& size = arena.type(node.operands[static_cast<std::size_t>(own.operand)]).shape[static_cast<std::size_t>(own.dimension)];
      const Poly start = part.is_first ? Poly(0) : own.stride * part.begin + own.low;
      const Poly end = part.is_last ? size : own.stride * (part.begin + part.count - 1) + own.high + 1;
      result.ranges.push_back({own.operand, own.dimension, start, end - start});
    }
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
  std::ranges::sort(result.ranges, {}, [](const OperandRange& range) { return std::pair(range.operand, range.dimension); });
  const auto twice = std::ranges::adjacent_find(
      result.ranges, [](const OperandRange& a, const OperandRange& b) { return a.operand == b.operand && a.dimension == b.dimension; });
  if (twice != result.ranges.end())
    return fail(ErrorCode::unsupported, fmt::format("operand {} is read along two axes in one dimension", twice->operand));
  return result;
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
  return ops::apply(arena, typing, op, std::move(operands), part.attributes);
}

}  // namespace xflow::partition
