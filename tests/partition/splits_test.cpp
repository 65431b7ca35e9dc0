// The axes that can be split, what is read along them, and the verdict of the verifier on their splits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "src/ir/graph.h"
#include "src/ops/operator.h"
#include "src/partition/split_axes.h"
#include "src/partition/split_proof.h"
#include "src/verifier/proof/decide.h"
#include "tests/eval/operator_samples.h"
#include "tests/places.h"

namespace xflow::partition {
namespace {

using Sizes = std::vector<std::string>;

ir::TensorType type_of(ir::Symbols& symbols, const Sizes& sizes, ir::DataType data_type = ir::DataType::float32) {
  ir::TensorType type;
  type.data_type = data_type;
  type.ranked = true;
  for (const std::string& size : sizes) {
    // "2*H" is a multiple of a size.
    const auto star = size.find('*');
    const ir::Poly factor = star == std::string::npos ? 1 : std::stoi(size);
    const std::string name = star == std::string::npos ? size : size.substr(star + 1);
    type.shape.push_back(factor * (name[0] <= '9' ? ir::Poly(std::stoi(name)) : ir::Poly(symbols.named(ir::SymbolKind::dimension, name))));
  }
  return type;
}

std::string verdict_of(Result<rules::RuleInstance> claim) {
  if (!claim) return claim.error().message;
  const verifier::Decision decision = verifier::decide(*claim);
  return verifier::name(decision.verdict) + (decision.open.empty() ? "" : ": " + decision.open);
}

// One line per axis: "x[0] w[1]*2[-1..1]" (operand number, dimension, stride, elements around it) and the verdict, or "- why".
std::vector<std::string> splits_of(const std::string& op, const std::vector<ir::TensorType>& types, ir::Arena& arena,
                                   ir::Attributes given) {
  std::vector<ir::ValueId> inputs;
  for (std::size_t k = 0; k < types.size(); ++k) inputs.push_back(arena.input(types[k], static_cast<std::uint32_t>(k)));
  const auto value = ops::apply(arena, op, inputs, std::move(given));
  if (!value) return {value.error().text()};
  std::vector<std::string> lines;
  const auto axes = split_axes(arena, value->node, 0);
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const SplitAxis& axis = axes[a];
    std::string line = axis.is_reduction() ? "reduction" : "";
    if (!axis.block.is_one()) line = fmt::format("by {}", arena.symbols().to_string(axis.block));
    for (const FollowedDimension& at : axis.followed) {
      line += fmt::format("{}{}[{}]", line.empty() ? "" : " ", at.operand, at.dimension);
      if (!at.stride.is_one() || at.overlaps() || !at.low.is_zero())
        line += fmt::format("*{}[{}..{}]", arena.symbols().to_string(at.stride), arena.symbols().to_string(at.low),
                            arena.symbols().to_string(at.high));
    }
    if (axis.obstacle) {
      lines.push_back("- " + *axis.obstacle);
      continue;
    }
    std::string verdict;
    if (axis.is_reduction()) {
      verdict = verdict_of(reduction_claim(arena, value->node, 0, axes, a));
    } else {
      const bool has_middle = axis.blocks.constant().value_or(3) > 2;
      for (const PartPosition place : {PartPosition::first, PartPosition::middle, PartPosition::last}) {
        if (place == PartPosition::middle && !has_middle) continue;
        const std::string own = verdict_of(part_claim(arena, value->node, 0, axes, {{PlacedAxis{a, place}}}));
        if (verdict.empty()) verdict = own;
        if (own != verdict) verdict += ", " + own;
      }
    }
    lines.push_back(line + (line.empty() ? "" : " ") + "-> " + verdict);
  }
  return lines;
}

std::vector<std::string> splits_of(const std::string& op, const std::vector<Sizes>& operands, ir::Attributes given = {}) {
  ir::Arena arena;
  std::vector<ir::TensorType> types;
  for (const Sizes& sizes : operands) types.push_back(type_of(arena.symbols(), sizes));
  return splits_of(op, types, arena, std::move(given));
}

using Lines = std::vector<std::string>;

std::vector<ir::Poly> list(const std::vector<std::int64_t>& values) { return ir::polys(values); }

TEST(Splits, OfProducts) {
  EXPECT_EQ(splits_of("matmul", {{"M", "K"}, {"K", "N"}}), (Lines{"0[0] -> proved", "1[1] -> proved", "reduction 0[1] 1[0] -> proved"}));
  EXPECT_EQ(splits_of("matmul", {{"B", "M", "K"}, {"B", "K", "N"}}),
            (Lines{"0[0] 1[0] -> proved", "0[1] -> proved", "1[2] -> proved", "reduction 0[2] 1[1] -> proved"}));
}

TEST(Splits, OfConvolutionsNeedAHalo) {
  EXPECT_EQ(
      splits_of("conv", {{"N", "C", "H", "W"}, {"O", "C", "3", "3"}}, {{"pads", list({1, 1, 1, 1})}, {"strides", list({2, 1})}}),
      (Lines{"0[0] -> proved", "1[0] -> proved", "0[2]*2[-1..1] -> proved", "0[3]*1[-1..1] -> proved", "reduction 0[1] 1[1] -> proved",
             "- an operand is read along it in windows", "- an operand is read along it in windows"}));
}

TEST(Splits, OfConvolutionsWithDilationsNeedALongerHalo) {
  EXPECT_EQ(splits_of("conv", {{"N", "C", "H"}, {"O", "C", "3"}}, {{"pads", list({2, 0})}, {"dilations", list({4})}})[2],
            "0[2]*1[-2..6] -> proved");
}

TEST(Splits, OfConvolutionsWithGroupsAreSplitByGroups) {
  EXPECT_EQ(splits_of("conv", {{"N", "12", "9"}, {"24", "2", "3"}}, {{"groups", ir::Poly(6)}, {"strides", list({2})}}),
            (Lines{"0[0] -> proved", "by 4 0[1]*2[0..1] 1[0]*4[0..3] -> proved", "0[2]*2[0..2] -> proved",
                   "- an operand is read along it in windows", "- an operand is read along it in windows"}));
}

TEST(Splits, OfElementwiseOperatorsReadBroadcastOperandsWhole) {
  EXPECT_EQ(splits_of("add", {{"N", "C"}, {"N", "1"}}), (Lines{"0[0] 1[0] -> proved", "0[1] -> proved"}));
}

TEST(Splits, OfSoftmaxExcludeItsAxis) {
  EXPECT_EQ(splits_of("softmax", {Sizes{"N", "C"}}), (Lines{"0[0] -> proved", "- operand x is read along it and as a whole"}));
}

TEST(Splits, OfPoolsNeedAHalo) {
  EXPECT_EQ(splits_of("max_pool", {Sizes{"N", "C", "H"}}, {{"kernel", list({3})}, {"strides", list({2})}, {"pads", list({1, 1})}}),
            (Lines{"0[0] -> proved", "0[1] -> proved", "0[2]*2[-1..1] -> proved", "- an operand is read along it in windows"}));
}

// The divisor of an average without the padding depends on the position.
TEST(Splits, OfAveragesWithoutTheirPadding) {
  const ir::Attributes window{{"kernel", list({3})}, {"strides", list({2})}, {"pads", list({1, 1})}, {"count_include_pad", ir::Poly(0)}};
  EXPECT_EQ(splits_of("average_pool", {Sizes{"N", "C", "H"}}, window),
            (Lines{"0[0] -> proved", "0[1] -> proved", "0[2]*2[-1..1] -> proved"}));
}

TEST(Splits, OfTransposesFollowThePermutation) {
  EXPECT_EQ(splits_of("transpose", {Sizes{"N", "C"}}, {{"perm", list({1, 0})}}), (Lines{"0[1] -> proved", "0[0] -> proved"}));
}

TEST(Splits, OfReshapesAreMadeOfBlocks) {
  EXPECT_EQ(splits_of("reshape", {Sizes{"2", "3", "12"}}, {{"shape", list({6, 12})}}), (Lines{"by 3 0[0] -> proved", "0[2] -> proved"}));
  EXPECT_EQ(splits_of("reshape", {Sizes{"2", "3", "12"}}, {{"shape", list({2, 3, 4, 3})}}),
            (Lines{"0[0] -> proved", "0[1] -> proved", "0[2]*3[0..2] -> proved", "0[2]*1[0..9] -> refuted"}));
  EXPECT_EQ(splits_of("reshape", {Sizes{"2", "3", "4", "3"}}, {{"shape", list({2, 3, 12})}}),
            (Lines{"0[0] -> proved", "0[1] -> proved", "by 3 0[2] -> proved"}));
}

TEST(Splits, OfMovement) {
  EXPECT_EQ(splits_of("slice", {Sizes{"9", "C"}}, {{"starts", list({1, 0})}, {"sizes", list({4, 7})}, {"steps", list({2, 1})}}),
            (Lines{"0[0]*2[1..1] -> proved", "0[1] -> proved"}));
  EXPECT_EQ(splits_of("concat", {{"N", "C"}, {"N", "D"}}, {{"axis", ir::Poly(1)}}),
            (Lines{"0[0] 1[0] -> proved", "- what is read depends on its index"}));
  EXPECT_EQ(splits_of("pad", {Sizes{"N", "C"}}, {{"begins", list({0, 1})}, {"ends", list({0, 2})}}),
            (Lines{"0[0] -> proved", "0[1]*1[-1..-1] -> proved"}));
}

TEST(Splits, OfReductions) {
  EXPECT_EQ(splits_of("reduce_sum", {Sizes{"N", "C"}}, {{"axes", list({1})}}),
            (Lines{"0[0] -> proved", "- its size is 1", "reduction 0[1] -> proved"}));
  EXPECT_EQ(splits_of("reduce_max", {Sizes{"N", "C"}}, {{"axes", list({1})}}),
            (Lines{"0[0] -> proved", "- its size is 1", "reduction 0[1] -> proved"}));
  // A mean is no sum of means.
  EXPECT_EQ(splits_of("reduce_mean", {Sizes{"N", "C"}}, {{"axes", list({1})}}), (Lines{"0[0] -> proved", "- its size is 1"}));
}

// What is read grows with the index, so that a part of the terms is not the sum of these terms.
TEST(Splits, OfRunningSumsAreRefuted) {
  EXPECT_EQ(splits_of("cumsum", {Sizes{"N", "C"}}, {{"axis", ir::Poly(1)}}),
            (Lines{"0[0] -> proved", "- a condition on its index is not the range of a read along it", "reduction 0[1] -> refuted"}));
}

TEST(Splits, OfEmbeddingsByIndexAndWidth) {
  ir::Arena arena;
  EXPECT_EQ(splits_of("gather", {type_of(arena.symbols(), {"V", "H"}), type_of(arena.symbols(), {"B", "S"}, ir::DataType::int64)}, arena,
                      {{"axis", ir::Poly(0)}}),
            (Lines{"1[0] -> proved", "1[1] -> proved", "0[1] -> proved"}));
}

// A part that lacks its halo, or has the padding of the whole at an inner end, is not the operation.
TEST(Splits, WithoutTheirHaloAreRefuted) {
  ir::Arena arena;
  const ir::ValueId x = arena.input(type_of(arena.symbols(), {"N", "C", "H"}), 0);
  const ir::ValueId w = arena.input(type_of(arena.symbols(), {"O", "C", "3"}), 1);
  const auto y = ops::apply(arena, "conv", {x, w}, {{"pads", list({1, 1})}});
  ASSERT_TRUE(y);
  auto axes = split_axes(arena, y->node, 0);
  FollowedDimension& rows = axes[2].followed[0];
  const FollowedDimension right = rows;
  rows.low = 0;
  EXPECT_NE(verdict_of(part_claim(arena, y->node, 0, axes, {{PlacedAxis{2, PartPosition::middle}}})), "proved");
  rows.low = -2;
  EXPECT_NE(verdict_of(part_claim(arena, y->node, 0, axes, {{PlacedAxis{2, PartPosition::middle}}})), "proved");
  // One row off, with the right number of rows.
  rows.low = right.low + 1;
  rows.high = right.high + 1;
  EXPECT_EQ(verdict_of(part_claim(arena, y->node, 0, axes, {{PlacedAxis{2, PartPosition::middle}}})), "refuted");
}

ir::NodeId padded_convolution(ir::Arena& arena) {
  const ir::ValueId x = arena.input(type_of(arena.symbols(), {"N", "C", "H", "W"}), 0);
  const ir::ValueId w = arena.input(type_of(arena.symbols(), {"O", "C", "3", "3"}), 1);
  return ops::apply(arena, "conv", {x, w}, {{"pads", list({1, 1, 1, 1})}}).value().node;
}

TEST(Splits, OfSeveralAxesAtOnce) {
  ir::Arena arena;
  const ir::NodeId y = padded_convolution(arena);
  const auto axes = split_axes(arena, y, 0);
  const std::vector<PlacedAxis> placed = {
      {0, PartPosition::middle}, {1, PartPosition::last}, {2, PartPosition::first}, {3, PartPosition::last}};
  EXPECT_EQ(verdict_of(part_claim(arena, y, 0, axes, placed)), "proved");
}

// The sum of a part of several axes, for all of their sizes. A mean has none.
TEST(Splits, OfAxesAndASumAtOnce) {
  ir::Arena arena;
  const ir::NodeId y = padded_convolution(arena);
  const auto axes = split_axes(arena, y, 0);
  for (const PartPosition position : {PartPosition::first, PartPosition::middle, PartPosition::last}) {
    const std::vector<PlacedAxis> placed = {{0, PartPosition::middle}, {1, PartPosition::last}, {2, position}};
    EXPECT_EQ(verdict_of(part_reduction_claim(arena, y, 0, axes, placed, 4)), "proved");
  }
  const auto mean = ops::apply(arena, "reduce_mean", {arena.input(type_of(arena.symbols(), {"N", "C"}), 2)}, {{"axes", list({1})}});
  ASSERT_TRUE(mean);
  auto wrong = split_axes(arena, mean->node, 0);
  SplitAxis terms = wrong[0];
  terms.kind = AxisKind::sum;
  wrong.push_back(terms);
  EXPECT_EQ(verdict_of(part_reduction_claim(arena, mean->node, 0, wrong, {{PlacedAxis{0, PartPosition::middle}}}, wrong.size() - 1)),
            "a part of the operation has no such reduction");
}

// Of one operation: what docs/splits.md says of it.
std::string row_of(const testing::Sample& sample) {
  ir::Arena arena;
  std::vector<ir::TensorType> types;
  for (const testing::Operand& operand : sample.operands) types.push_back({operand.type, true, ir::polys(operand.dims)});
  const auto lines = splits_of(sample.op, types, arena, sample.attributes);
  std::string proved;
  std::string others;
  for (std::size_t k = 0; k < lines.size(); ++k) {
    const auto arrow = lines[k].find("-> ");
    const bool is_proved = lines[k].ends_with("-> proved");
    std::string& cell = is_proved ? proved : others;
    if (!cell.empty()) cell += "<br>";
    cell += fmt::format("`{}` ", k);
    if (is_proved) {
      cell += lines[k].substr(0, arrow);
    } else if (arrow == std::string::npos) {
      cell += lines[k].substr(2);
    } else {
      // A claim with an error says which sizes an operator does not know.
      cell += lines[k].find("expected") == std::string::npos ? lines[k].substr(arrow + 3) : "a part is no operation";
    }
  }
  return fmt::format("{} | {} |", proved, others);
}

// Samples with few elements, since refutations evaluate them, and none of float16, which has the rows of float32; of those with the same
// row the first one.
std::string table_of_samples() {
  std::map<std::string, std::set<std::string>> rows;
  std::string text;
  for (const testing::Sample& sample : testing::samples()) {
    constexpr std::int64_t kMostElements = 300;
    const bool is_small = std::ranges::all_of(sample.operands, [](const testing::Operand& operand) {
      std::int64_t elements = 1;
      for (const std::int64_t dim : operand.dims) elements *= dim;
      return elements < kMostElements && operand.type != ir::DataType::float16;
    });
    if (!is_small) continue;
    const std::string row = row_of(sample);
    if (rows[sample.op].insert(row).second) text += fmt::format("| `{}` | {}\n", testing::text_of(sample), row);
  }
  return text;
}

TEST(Splits, OfEveryOperatorAreThoseOfTheTable) {
  const std::string path = places::repository() + "/docs/splits.md";
  std::ifstream in(path);
  std::stringstream stored;
  stored << in.rdbuf();
  const std::string page = stored.str();
  const std::string head = "|---|---|---|\n";
  const auto begin = page.find(head);
  ASSERT_NE(begin, std::string::npos) << path;
  const std::string expected = page.substr(0, begin + head.size()) + table_of_samples();
  if (std::getenv("XFLOW_RENEW_GOLDENS") != nullptr) std::ofstream(path) << expected;
  EXPECT_EQ(page, expected) << "if this is meant, run the test once with XFLOW_RENEW_GOLDENS=1 in the environment";
}

}  // namespace
}  // namespace xflow::partition
