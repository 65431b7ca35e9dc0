// The order of kernels whose operands arrive one after the other.
#include "src/execution/launch_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace xflow::execution {
namespace {

using ir::ValueId;

ValueId value(std::uint32_t number) { return {ir::NodeId{number}, 0}; }

// A launch that computes a value from others; it is known by its result.
cost::CoveredLaunch launch(std::uint32_t result, const std::vector<std::uint32_t>& operands) {
  cost::CoveredLaunch made;
  for (const std::uint32_t operand : operands) made.operands.push_back(value(operand));
  made.results = {value(result)};
  return made;
}

std::vector<ValueId> results_of(const std::vector<cost::CoveredLaunch>& launches) {
  std::vector<ValueId> results;
  for (const cost::CoveredLaunch& one : launches) results.push_back(one.results[0]);
  return results;
}

TEST(OrderLaunches, WhatNeedsALateInputWaits) {
  // Inputs 0 to 2; input 2 arrives first, and input 0 is of this device.
  std::vector<cost::CoveredLaunch> launches = {launch(3, {1}), launch(4, {2}), launch(5, {3, 4}), launch(6, {0}), launch(7, {4, 6})};
  order_launches(launches, {{value(2), 1}, {value(1), 2}}, {});
  EXPECT_EQ(results_of(launches), (std::vector<ValueId>{value(6), value(4), value(7), value(3), value(5)}));
}

TEST(OrderLaunches, WhatIsSentComesFirst) {
  std::vector<cost::CoveredLaunch> launches = {launch(3, {0}), launch(4, {0}), launch(5, {4}), launch(6, {3, 5})};
  order_launches(launches, {}, {value(5)});
  EXPECT_EQ(results_of(launches), (std::vector<ValueId>{value(4), value(5), value(3), value(6)}));
}

TEST(OrderLaunches, TheRestKeepsItsOrder) {
  std::vector<cost::CoveredLaunch> launches = {launch(3, {0}), launch(4, {1}), launch(5, {0}), launch(6, {3, 5})};
  const std::vector<ValueId> before = results_of(launches);
  order_launches(launches, {}, {});
  EXPECT_EQ(results_of(launches), before);
}

TEST(OrderLaunches, AConversionStaysBetweenWriterAndReader) {
  // A value is written, converted to another layout, and read in it.
  std::vector<cost::CoveredLaunch> launches = {launch(3, {0}), launch(3, {3}), launch(4, {3}), launch(5, {0})};
  launches[1].result_layout = cost::Layout::channels_last;
  order_launches(launches, {}, {value(5)});
  ASSERT_EQ(results_of(launches), (std::vector<ValueId>{value(5), value(3), value(3), value(4)}));
  EXPECT_EQ(launches[1].result_layout, cost::Layout::plain);
  EXPECT_EQ(launches[2].result_layout, cost::Layout::channels_last);
}

TEST(OrderLaunches, OperandsAreComputedBefore) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    constexpr std::uint32_t kInputs = 4;
    std::vector<cost::CoveredLaunch> launches;
    std::unordered_set<ValueId> sent;
    for (std::uint32_t k = kInputs; k < kInputs + 20; ++k) {
      std::vector<std::uint32_t> operands;
      for (std::uint32_t j = 0; j < 1 + random() % 3; ++j) operands.push_back(static_cast<std::uint32_t>(random() % k));
      launches.push_back(launch(k, operands));
      if (random() % 5 == 0) sent.insert(value(k));
    }
    order_launches(launches, {{value(1), 2}, {value(2), 1}, {value(3), 3}}, sent);
    ASSERT_EQ(launches.size(), 20U);
    std::unordered_set<ValueId> known = {value(0), value(1), value(2), value(3)};
    for (const cost::CoveredLaunch& one : launches) {
      for (const ValueId operand : one.operands) EXPECT_TRUE(known.contains(operand));
      EXPECT_TRUE(known.insert(one.results[0]).second);
    }
  }
}

TEST(ArrivalsOf, AreByPartAndByTheTimeAtWhichItCompletesThem) {
  PartManifest manifest;
  manifest.devices = {"a", "b", "c"};
  manifest.parts = {
      {0, "part-0.onnx", 1, {}, {"u", "v"}},
      {1, "part-1.onnx", 1, {{"u", 0, false}}, {"w"}},
      {2, "part-2.onnx", 1, {{"u", 0, false}}, {"z"}},
      {1, "part-3.onnx", 1, {{"x", std::nullopt, false}, {"z", 2, false}, {"w", 1, false}, {"u", 0, false}, {"v", 0, false}}, {"y"}}};
  const std::vector<SentTensor> sent = sent_tensors(manifest);
  ASSERT_EQ(sent.size(), 4U);
  std::vector<double> complete;
  for (const SentTensor& tensor : sent) complete.push_back(tensor.name == "v" ? 0.25 : 0.5);
  EXPECT_EQ(arrivals_of(manifest, 3, sent, complete), (std::map<std::string, std::size_t, std::less<>>{{"v", 1}, {"u", 2}, {"z", 3}}));
  EXPECT_TRUE(arrivals_of(manifest, 0, sent, complete).empty());
}

}  // namespace
}  // namespace xflow::execution
