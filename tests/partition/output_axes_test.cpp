// The axes that can be split, and what is read along them, by operator.
#include "src/partition/output_axes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/ir/graph.h"
#include "src/ops/operator.h"

namespace xflow::partition {
namespace {

using Sizes = std::vector<std::string>;

ir::TensorType type_of(ir::Symbols& symbols, const Sizes& sizes) {
  ir::TensorType type;
  type.data_type = ir::DataType::float32;
  type.ranked = true;
  for (const std::string& size : sizes)
    type.shape.push_back(size[0] <= '9' ? ir::Poly(std::stoi(size)) : ir::Poly(symbols.named(ir::SymbolKind::dimension, size)));
  return type;
}

// One line per axis: "x[0] w[1]*2~" (operand number, dimension, stride, ~ for a window), or "- why".
std::vector<std::string> axes_of(const std::string& op, const std::vector<Sizes>& operands,
                                 std::vector<std::pair<std::string, ir::AttributeValue>> attributes = {}) {
  ir::Arena arena;
  std::vector<ir::ValueId> inputs;
  for (std::size_t k = 0; k < operands.size(); ++k)
    inputs.push_back(arena.input(type_of(arena.symbols(), operands[k]), static_cast<std::uint32_t>(k)));
  ir::Attributes given;
  for (auto& [name, value] : attributes) given.set(name, std::move(value));
  const auto value = ops::apply(arena, op, inputs, std::move(given));
  if (!value) return {value.error().text()};
  std::vector<std::string> lines;
  for (const OutputAxis& axis : output_axes(arena, value->node, 0)) {
    std::string line;
    for (const FollowedDimension& at : axis.followed)
      line += fmt::format("{}{}[{}]*{}{}", line.empty() ? "" : " ", at.operand, at.dimension, at.stride, at.is_window ? "~" : "");
    lines.push_back(axis.obstacle ? "- " + *axis.obstacle : line);
  }
  return lines;
}

using Lines = std::vector<std::string>;

std::vector<ir::Poly> list(const std::vector<std::int64_t>& values) { return ir::polys(values); }

TEST(OutputAxes, OfProducts) {
  EXPECT_EQ(axes_of("matmul", {{"M", "K"}, {"K", "N"}}), (Lines{"0[0]*1", "1[1]*1"}));
  EXPECT_EQ(axes_of("matmul", {{"B", "M", "K"}, {"B", "K", "N"}}), (Lines{"0[0]*1 1[0]*1", "0[1]*1", "1[2]*1"}));
}

TEST(OutputAxes, OfConvolutionsNeedAHalo) {
  EXPECT_EQ(axes_of("conv", {{"N", "4", "9", "9"}, {"8", "4", "3", "3"}}), (Lines{"0[0]*1", "1[0]*1", "0[2]*1~", "0[3]*1~"}));
}

TEST(OutputAxes, OfElementwiseOperatorsReplicateBroadcastOperands) {
  EXPECT_EQ(axes_of("add", {{"N", "C"}, {"N", "C"}}), (Lines{"0[0]*1 1[0]*1", "0[1]*1 1[1]*1"}));
  EXPECT_EQ(axes_of("add", {{"N", "C"}, {"N", "1"}}), (Lines{"0[0]*1 1[0]*1", "0[1]*1"}));
}

TEST(OutputAxes, OfSoftmaxExcludeItsAxis) {
  EXPECT_EQ(axes_of("softmax", {Sizes{"N", "C"}}), (Lines{"0[0]*1", "- operand x is read along it and as a whole"}));
}

TEST(OutputAxes, OfPoolsNeedAHalo) {
  EXPECT_EQ(axes_of("max_pool", {Sizes{"N", "C", "9"}}, {{"kernel", list({3})}, {"strides", list({2})}}),
            (Lines{"0[0]*1", "0[1]*1", "0[2]*2~"}));
}

TEST(OutputAxes, OfConvolutionsWithGroupsExcludeChannels) {
  EXPECT_EQ(axes_of("conv", {{"N", "4", "9"}, {"8", "2", "1"}}, {{"groups", ir::Poly(2)}, {"strides", list({2})}}),
            (Lines{"0[0]*1", "- operand x is not read at an ascending affine image of its index", "0[2]*2~"}));
}

TEST(OutputAxes, OfTransposesFollowThePermutation) {
  EXPECT_EQ(axes_of("transpose", {Sizes{"N", "C"}}, {{"perm", list({1, 0})}}), (Lines{"0[1]*1", "0[0]*1"}));
}

TEST(OutputAxes, OfReductionsFollowTheAxesThatStay) {
  EXPECT_EQ(axes_of("reduce_sum", {Sizes{"N", "C"}}, {{"axes", list({1})}}), (Lines{"0[0]*1", ""}));
}

TEST(OutputAxes, OfCumulativeSumsExcludeTheirAxis) {
  EXPECT_EQ(axes_of("cumsum", {Sizes{"N", "C"}}, {{"axis", ir::Poly(1)}}),
            (Lines{"0[0]*1", "- a condition on its index is not the range of a read along it"}));
}

TEST(OutputAxes, OfConcatenationsExcludeTheJoinedAxis) {
  EXPECT_EQ(axes_of("concat", {{"N", "C"}, {"N", "D"}}, {{"axis", ir::Poly(1)}}),
            (Lines{"0[0]*1 1[0]*1", "- what is read depends on its index"}));
}

TEST(OutputAxes, OfPaddedConvolutionsMayMeetThePads) {
  EXPECT_EQ(axes_of("conv", {{"N", "4", "9"}, {"8", "4", "3"}}, {{"pads", list({1, 1})}}), (Lines{"0[0]*1", "1[0]*1", "0[2]*1~"}));
}

}  // namespace
}  // namespace xflow::partition
