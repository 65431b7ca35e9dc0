#include "src/search/windows.h"

#include <gtest/gtest.h>

#include <set>

#include "src/ir/constant.h"

namespace xflow::search {
namespace {

using ir::NodeId;
using ir::ValueId;

class Windows : public ::testing::Test {
 protected:
  ValueId apply(int op, std::vector<ValueId> operands) {
    const std::vector<ir::TensorType> types{arena.type(operands[0])};
    return {arena.operation(static_cast<ir::OperatorId>(op), {}, std::move(operands), types), 0};
  }
  ValueId chain(int length, ValueId value) {
    for (int k = 0; k < length; ++k) value = apply(k % 3, {value});
    return value;
  }
  std::vector<Window> windows(std::vector<ValueId> outputs, std::size_t size) {
    graph.emplace(arena, ir::Graph{std::move(outputs)});
    return windows_of(*graph, size);
  }

  ir::Arena arena;
  ValueId x = arena.input({ir::DataType::float32, true, {ir::Poly(4), ir::Poly(4)}}, 0);
  ValueId y = arena.input({ir::DataType::float32, true, {ir::Poly(4), ir::Poly(4)}}, 1);
  std::optional<ir::WorkGraph> graph;
};

TEST_F(Windows, ContainEveryOperationAndAreBounded) {
  const auto all = windows({apply(9, {chain(50, x), chain(30, y)})}, 16);
  std::set<NodeId> seen;
  for (const Window& window : all) {
    EXPECT_LE(window.size(), 16U);
    EXPECT_EQ(std::set<NodeId>(window.begin(), window.end()).size(), window.size());
    seen.insert(window.begin(), window.end());
  }
  EXPECT_EQ(seen.size(), graph->operations());
  EXPECT_LE(all.size(), 2 * graph->operations() / 8) << "every window covers half of its operations";
}

TEST_F(Windows, ASmallGraphIsOne) { EXPECT_EQ(windows({chain(10, x)}, 16).size(), 1U); }

TEST_F(Windows, SiblingsAreInOne) {
  std::vector<ValueId> outputs;
  outputs.reserve(12);
  for (int k = 0; k < 12; ++k) outputs.push_back(apply(10 + k, {x, y}));
  EXPECT_EQ(windows(outputs, 13).size(), 1U) << "they read the same inputs";
}

TEST_F(Windows, NumbersConnectNothing) {
  const ValueId number = arena.constant(*ir::make_constant(ir::DataType::float32, {}, std::vector{2.0}));
  EXPECT_EQ(windows({apply(1, {x, number}), apply(2, {y, number})}, 12).size(), 2U);
}

TEST_F(Windows, OfEqualStructureHaveEqualSignatures) {
  const auto parts = windows({chain(5, x), chain(5, y)}, 12);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(signature_of(*graph, parts[0]), signature_of(*graph, parts[1]));
  const auto others = windows({chain(5, x), chain(6, y)}, 12);
  EXPECT_NE(signature_of(*graph, others[0]), signature_of(*graph, others[1]));
}

TEST_F(Windows, WhatIsReadOutsideCounts) {
  const ValueId inner = chain(3, y);
  const auto parts = windows({chain(5, x), apply(1, {apply(0, {inner})}), inner}, 12);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_NE(signature_of(*graph, parts[0]), signature_of(*graph, parts[1]));
}

// Layers of 17 operations: windows of 12 cover 6 each, so that windows from the first uncovered operation
// would begin at another operation of each layer.
TEST_F(Windows, OfRepeatedLayersBeginAtTheSameOperationOfEach) {
  constexpr std::size_t kLayers = 40;
  const auto layer = [&](ValueId value) {
    for (int k = 0; k < 17; ++k) value = apply(k, {value});
    return value;
  };
  ValueId value = x;
  for (std::size_t k = 0; k < kLayers; ++k) value = layer(value);
  graph.emplace(arena, ir::Graph{{value}});
  const auto lists = repeated_windows_of(*graph, 12);
  std::set<NodeId> seen;
  std::size_t once = 0;
  for (const auto& list : lists) {
    once += list.size() < kLayers / 2 ? 1 : 0;
    for (const Window& window : list) {
      EXPECT_EQ(signature_of(*graph, window), signature_of(*graph, list[0]));
      seen.insert(window.begin(), window.end());
    }
  }
  EXPECT_EQ(seen.size(), graph->operations());
  EXPECT_LE(lists.size() - once, 6U);
  EXPECT_LE(once, 8U) << "at the two ends";
}

}  // namespace
}  // namespace xflow::search
