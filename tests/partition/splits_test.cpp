// The axes that can be split, what is read along them, and the verdict of the verifier on their splits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
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
    std::string line = axis.is_reduction() ? name(axis.kind) : "";
    if (!axis.block.is_one()) line = fmt::format("by {}", arena.symbols().to_string(axis.block));
    for (const FollowedDimension& at : axis.followed) {
      line += fmt::format("{}{}[{}]", line.empty() ? "" : " ", at.operand, at.dimension);
      if (!at.stride.is_one() || at.overlaps() || !at.low.is_zero())
        line += fmt::format("*{}[{}..{}]", arena.symbols().to_string(at.stride), arena.symbols().to_string(at.low),
                            arena.symbols().to_string(at.high));
    }
    for (const JoinedOperand& own : axis.joined) line += fmt::format("{}{}[{}]", line.empty() ? "joins " : " ", own.operand, own.dimension);
    if (axis.obstacle) {
      lines.push_back("- " + *axis.obstacle);
      continue;
    }
    std::string verdict;
    if (!axis.joined.empty()) {
      for (std::size_t from = 0; from < axis.joined.size(); ++from) {
        for (std::size_t to = from; to < axis.joined.size(); ++to) {
          const std::string own = verdict_of(part_claim(arena, value->node, 0, axes, {{PlacedAxis{a, PartPosition::middle, from, to}}}));
          if (verdict.empty()) verdict = own;
          if (own != verdict) verdict += ", " + own;
        }
      }
    } else if (axis.is_reduction()) {
      verdict = verdict_of(reduction_claim(arena, value->node, 0, axes, a));
      if (axis.table && verdict == "proved") verdict = verdict_of(neighbours_claim(arena, value->node, 0, axes, a));
      if (axis.table && verdict == "proved") verdict = verdict_of(wrap_claim(arena, value->node, 0, axes, a));
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
  EXPECT_EQ(splits_of("matmul", {{"M", "K"}, {"K", "N"}}), (Lines{"0[0] -> proved", "1[1] -> proved", "sum 0[1] 1[0] -> proved"}));
  EXPECT_EQ(splits_of("matmul", {{"B", "M", "K"}, {"B", "K", "N"}}),
            (Lines{"0[0] 1[0] -> proved", "0[1] -> proved", "1[2] -> proved", "sum 0[2] 1[1] -> proved"}));
}

TEST(Splits, OfConvolutionsNeedAHalo) {
  EXPECT_EQ(splits_of("conv", {{"N", "C", "H", "W"}, {"O", "C", "3", "3"}}, {{"pads", list({1, 1, 1, 1})}, {"strides", list({2, 1})}}),
            (Lines{"0[0] -> proved", "1[0] -> proved", "0[2]*2[-1..1] -> proved", "0[3]*1[-1..1] -> proved", "sum 0[1] 1[1] -> proved",
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

// Four heads of three elements go to the samples: a part has all heads of its samples.
TEST(Splits, OfReshapesThatMoveHeadsToTheSamplesAreMadeOfTheirHeads) {
  EXPECT_EQ(splits_of("reshape", {Sizes{"5", "2", "12"}}, {{"shape", list({5, 8, 3})}}),
            (Lines{"0[0] -> proved", "by 4 0[1] -> proved", "- its size is no known multiple of 12"}));
  EXPECT_EQ(splits_of("reshape", {Sizes{"5", "8", "3"}}, {{"shape", list({5, 2, 12})}}),
            (Lines{"0[0] -> proved", "0[1]*4[0..3] -> proved", "by 3 0[1]*1[0..4] -> refuted"}));
}

TEST(Splits, OfMovement) {
  EXPECT_EQ(splits_of("slice", {Sizes{"9", "C"}}, {{"starts", list({1, 0})}, {"sizes", list({4, 7})}, {"steps", list({2, 1})}}),
            (Lines{"0[0]*2[1..1] -> proved", "0[1] -> proved"}));
  EXPECT_EQ(splits_of("concat", {{"N", "C"}, {"N", "D"}}, {{"axis", ir::Poly(1)}}),
            (Lines{"0[0] 1[0] -> proved", "joins 0[1] 1[1] -> proved"}));
  EXPECT_EQ(splits_of("concat", {{"N", "C"}, {"N", "D"}, {"N", "1"}, {"N", "C"}}, {{"axis", ir::Poly(1)}}),
            (Lines{"0[0] 1[0] 2[0] 3[0] -> proved", "joins 0[1] 1[1] 2[1] 3[1] -> proved"}));
  EXPECT_EQ(splits_of("pad", {Sizes{"N", "C"}}, {{"begins", list({0, 1})}, {"ends", list({0, 2})}}),
            (Lines{"0[0] -> proved", "0[1]*1[-1..-1] -> proved"}));
}

TEST(Splits, OfReductions) {
  EXPECT_EQ(splits_of("reduce_sum", {Sizes{"N", "C"}}, {{"axes", list({1})}}),
            (Lines{"0[0] -> proved", "- its size is 1", "sum 0[1] -> proved"}));
  EXPECT_EQ(splits_of("reduce_max", {Sizes{"N", "C"}}, {{"axes", list({1})}}),
            (Lines{"0[0] -> proved", "- its size is 1", "maximum 0[1] -> proved"}));
  EXPECT_EQ(splits_of("reduce_min", {Sizes{"N", "C"}}, {{"axes", list({1})}}),
            (Lines{"0[0] -> proved", "- its size is 1", "minimum 0[1] -> proved"}));
  EXPECT_EQ(splits_of("reduce_mean", {Sizes{"N", "C"}}, {{"axes", list({1})}}),
            (Lines{"0[0] -> proved", "- its size is 1", "mean 0[1] -> proved"}));
  EXPECT_EQ(splits_of("reduce_mean", {Sizes{"N", "C", "H", "W"}}, {{"axes", list({2, 3})}, {"keep_dims", ir::Poly(0)}}),
            (Lines{"0[0] -> proved", "0[1] -> proved", "mean 0[2] -> proved", "mean 0[3] -> proved"}));
}

// The verdict on the claim that `combine` of these parts is an operation, whose sizes are numbers.
std::string verdict_of_parts(const std::string& op, const std::vector<ir::TensorType>& types, const ir::Attributes& attributes,
                             const char* combine, const std::vector<AxisPart>& parts,
                             const std::function<void(std::size_t, PartOperation&)>& change) {
  rules::RuleInstance claim;
  claim.arena = std::make_unique<ir::Arena>();
  ir::Arena& arena = *claim.arena;
  for (std::size_t k = 0; k < types.size(); ++k) {
    claim.variables.push_back(arena.input(types[k], static_cast<std::uint32_t>(k)));
    claim.variable_names.push_back(fmt::format("x{}", k));
  }
  const ir::ValueId whole = ops::apply(arena, op, claim.variables, attributes).value();
  const auto axes = split_axes(arena, whole.node, 0);
  ops::Typing typing(arena.symbols());
  std::vector<ir::ValueId> terms;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    PartOperation part = part_operation(arena, whole.node, axes, {&parts[k], 1}).value();
    change(k, part);
    const auto node = add_part(arena, typing, ops::id_of(op), part, claim.variables);
    if (!node) return node.error().message;
    terms.push_back({*node, 0});
  }
  ir::Attributes along;
  if (std::string_view(combine) == "concat") along.set("axis", attributes.integer("axis"));
  claim.source.outputs = {whole};
  for (; along.list().empty() && terms.size() > 1; terms.pop_back())
    terms[terms.size() - 2] = ops::apply(arena, combine, {terms[terms.size() - 2], terms.back()}).value();
  claim.target.outputs = {along.list().empty() ? terms[0] : ops::apply(arena, combine, terms, along).value()};
  return verifier::name(verifier::decide(claim).verdict);
}

void unchanged(std::size_t /*part*/, PartOperation& /*operation*/) {}

// Parts of a mean that have other numbers of terms do not count the same, and a mean is no sum of means. The
// shares are numbers here that are exact in float.
TEST(Splits, OfMeansWithoutTheirSharesAreRefuted) {
  const std::vector<ir::TensorType> types = {{ir::DataType::float32, true, list({2, 8})}};
  const ir::Attributes attributes{{"axes", list({1})}};
  const auto verdict = [&](const auto& change) {
    return verdict_of_parts("reduce_mean", types, attributes, "add", {{2, 0, 2, true, false}, {2, 2, 6, false, true}}, change);
  };
  EXPECT_EQ(verdict(unchanged), "proved");
  EXPECT_EQ(verdict([](std::size_t, PartOperation& part) { part.share = TermShare{1, 2}; }), "refuted");
  EXPECT_EQ(verdict([](std::size_t, PartOperation& part) { part.share.reset(); }), "refuted");
  EXPECT_EQ(verdict([](std::size_t k, PartOperation& part) { part.share->terms = k == 0 ? 6 : 2; }), "refuted");
  // A range that begins one term too early.
  EXPECT_EQ(verdict([](std::size_t k, PartOperation& part) { part.ranges[0].start = k == 0 ? 0 : 1; }), "refuted");
}

// Parts that begin and end within an operand, at its ends, or have several of them, are the concatenation.
// Those that are one element off are not.
TEST(Splits, OfConcatenationsAtOtherPlacesAreRefuted) {
  std::vector<ir::TensorType> types;
  for (const std::int64_t size : {3, 4, 2}) types.push_back({ir::DataType::float32, true, ir::polys(std::vector<std::int64_t>{2, size})});
  const auto verdict = [&](const std::vector<AxisPart>& parts, const auto& change) {
    return verdict_of_parts("concat", types, {{"axis", ir::Poly(1)}}, "concat", parts, change);
  };
  const std::vector<AxisPart> at_ends = {{1, 0, 3, true, false, 0, 0}, {1, 3, 6, false, true, 1, 2}};
  EXPECT_EQ(verdict(at_ends, unchanged), "proved");
  const std::vector<AxisPart> within = {{1, 0, 2, true, false, 0, 0}, {1, 2, 6, false, false, 0, 2}, {1, 8, 1, false, true, 2, 2}};
  EXPECT_EQ(verdict(within, unchanged), "proved");
  EXPECT_EQ(verdict(within, [](std::size_t k, PartOperation& part) { part.ranges[0].start += k == 0 ? 1 : 0; }), "refuted");
  EXPECT_EQ(verdict(within, [](std::size_t k, PartOperation& part) { part.ranges[0].start -= k == 2 ? 1 : 0; }), "refuted");
}

// For all sizes: an operand that is said to begin one element too late.
TEST(Splits, OfConcatenationsWithAnotherOffsetAreNotProved) {
  ir::Arena arena;
  const ir::ValueId x = arena.input(type_of(arena.symbols(), {"N", "C"}), 0);
  const ir::ValueId y = arena.input(type_of(arena.symbols(), {"N", "D"}), 1);
  const auto whole = ops::apply(arena, "concat", {x, y}, {{"axis", ir::Poly(1)}});
  ASSERT_TRUE(whole);
  auto axes = split_axes(arena, whole->node, 0);
  const std::vector<PlacedAxis> second = {{1, PartPosition::middle, 1, 1}};
  EXPECT_EQ(verdict_of(part_claim(arena, whole->node, 0, axes, second)), "proved");
  axes[1].joined[1].begin += 1;
  EXPECT_EQ(verdict_of(part_claim(arena, whole->node, 0, axes, second)).substr(0, 7), "refuted");
}

// What is read grows with the index, so that a part of the terms is not the sum of these terms.
TEST(Splits, OfRunningSumsAreRefuted) {
  EXPECT_EQ(splits_of("cumsum", {Sizes{"N", "C"}}, {{"axis", ir::Poly(1)}}),
            (Lines{"0[0] -> proved", "- a condition on its index is not the range of a read along it", "sum 0[1] -> refuted"}));
}

TEST(Splits, OfEmbeddingsByIndexAndWidth) {
  ir::Arena arena;
  EXPECT_EQ(splits_of("gather", {type_of(arena.symbols(), {"V", "H"}), type_of(arena.symbols(), {"B", "S"}, ir::DataType::int64)}, arena,
                      {{"axis", ir::Poly(0)}}),
            (Lines{"1[0] -> proved", "1[1] -> proved", "0[1] -> proved", "rows 0[0] -> proved"}));
  EXPECT_EQ(splits_of("gather", {type_of(arena.symbols(), {"V", "H"}), type_of(arena.symbols(), {"1", "S"}, ir::DataType::int64)}, arena,
                      {{"axis", ir::Poly(0)}})[3],
            "rows 0[0] -> proved");
}

// Rows without the mask, with a mask that ends elsewhere, or one row off.
TEST(Splits, OfRowsWithoutTheirMaskAreRefuted) {
  const std::vector<ir::TensorType> types = {{ir::DataType::float32, true, list({6, 2})}, {ir::DataType::int64, true, list({3})}};
  const std::vector<AxisPart> parts = {{2, 0, 2, true, false}, {2, 2, 3, false, false}, {2, 5, 1, false, true}};
  const auto verdict = [&](const auto& change) { return verdict_of_parts("gather", types, {{"axis", ir::Poly(0)}}, "add", parts, change); };
  EXPECT_NE(verdict(unchanged), "refuted");  // at numbers the verifier does not decide it; for all sizes it is proved above
  EXPECT_EQ(verdict([](std::size_t, PartOperation& part) { part.rows.reset(); }), "refuted");
  EXPECT_EQ(verdict([](std::size_t k, PartOperation& part) { part.rows->is_last = k > 0; }), "refuted");
  EXPECT_EQ(verdict([](std::size_t k, PartOperation& part) { part.rows->begin += k == 1 ? 1 : 0; }), "refuted");
  EXPECT_EQ(verdict([](std::size_t k, PartOperation& part) { part.ranges[0].start -= k == 2 ? 1 : 0; }), "refuted");
  EXPECT_EQ(verdict([](std::size_t, PartOperation& part) { part.rows->wraps = false; }), "refuted");
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

// The sum of a part of several axes, for all of their sizes. A norm has none.
TEST(Splits, OfAxesAndASumAtOnce) {
  ir::Arena arena;
  const ir::NodeId y = padded_convolution(arena);
  const auto axes = split_axes(arena, y, 0);
  for (const PartPosition position : {PartPosition::first, PartPosition::middle, PartPosition::last}) {
    const std::vector<PlacedAxis> placed = {{0, PartPosition::middle}, {1, PartPosition::last}, {2, position}};
    EXPECT_EQ(verdict_of(part_reduction_claim(arena, y, 0, axes, placed, 4)), "proved");
  }
  const auto norm = ops::apply(arena, "reduce_l2", {arena.input(type_of(arena.symbols(), {"N", "C"}), 2)}, {{"axes", list({1})}});
  ASSERT_TRUE(norm);
  auto wrong = split_axes(arena, norm->node, 0);
  SplitAxis terms = wrong[0];
  terms.kind = AxisKind::sum;
  wrong.push_back(terms);
  EXPECT_EQ(verdict_of(part_reduction_claim(arena, norm->node, 0, wrong, {{PlacedAxis{0, PartPosition::middle}}}, wrong.size() - 1)),
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
