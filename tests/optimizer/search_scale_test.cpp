// The search on graphs of a thousand operations, with shipped rules and without measuring.
#include <gtest/gtest.h>

#include <algorithm>

#include "src/cost/cost_model.h"
#include "src/cost/incremental_cost.h"
#include "src/ops/operator.h"
#include "src/optimizer/load_rules.h"
#include "src/search/rule_rewriter.h"
#include "src/search/search.h"
#include "tests/kernels/random_device.h"

namespace xflow::api {
namespace {

using ir::ValueId;

// Blocks of relu(conv(x, v) + conv(x, w) + x), each with weights of its own: one convolution each can do it.
class LargeGraph : public ::testing::Test {
 protected:
  static constexpr int kBlocks = 200;

  void SetUp() override {
    ValueId y = arena.input({ir::DataType::float32, true, ir::polys(std::vector<std::int64_t>{1, 4, 8, 8})}, 0);
    for (int k = 0; k < kBlocks; ++k) {
      const ValueId sum = apply("add", {convolution(y, k + 0.25), convolution(y, k + 0.5)});
      y = apply("relu", {apply("add", {sum, y})});
    }
    graph.outputs = {y};
  }
  ValueId apply(const char* op, std::vector<ValueId> operands, ir::Attributes attributes = {}) {
    return ops::apply(arena, op, std::move(operands), std::move(attributes)).value();
  }
  ValueId convolution(ValueId x, double value) {
    const ValueId w = arena.constant(*ir::make_constant(ir::DataType::float32, {4, 4, 3, 3}, std::vector<double>(4 * 4 * 9, value)));
    return apply("conv", {x, w},
                 {{"strides", ir::polys(std::vector<std::int64_t>{1, 1})},
                  {"pads", ir::polys(std::vector<std::int64_t>{1, 1, 1, 1})},
                  {"dilations", ir::polys(std::vector<std::int64_t>{1, 1})},
                  {"groups", ir::Poly(1)}});
  }
  search::Outcome run(std::uint64_t states, std::uint64_t bound_states = 0) {
    const auto rules = load_rules({});
    EXPECT_TRUE(rules);
    cost::RandomDevice device(1, cost::RandomDevice::noisy);
    cost::Database database = cost::Database::open("", device.info());
    cost::CostModel model(arena, device, database, [](ir::SymbolId) { return std::nullopt; });
    search::RuleRewriter rewriter(*rules, {});
    search::Options options;
    options.max_states = states;
    options.bound_states = bound_states;
    return search::search(
        arena, graph, rewriter, [&](const ir::WorkGraph& work) { return model.follow(work); }, options);
  }
  std::size_t operations(const ir::Graph& of) const { return ir::WorkGraph(arena, of).operations(); }

  ir::Arena arena;
  ir::Graph graph;
};

TEST_F(LargeGraph, EveryBlockBecomesOneConvolution) {
  const search::Outcome outcome = run(8000);
  EXPECT_EQ(operations(graph), 5U * kBlocks);
  EXPECT_LE(operations(outcome.best), 3U * kBlocks) << outcome.states;  // a convolution, at most its bias, relu
  EXPECT_LT(outcome.after.count(), 0.6 * outcome.before.count());
}

// Biases move into and out of the concatenation. The slices of their concatenation are the biases, not ever
// new constants.
TEST_F(LargeGraph, GraphsOfABlockWithAConcatenationAreFew) {
  const ValueId x = arena.input({ir::DataType::float32, true, ir::polys(std::vector<std::int64_t>{1, 4, 8, 8})}, 1);
  const auto branch = [&](double value) {
    const ValueId bias = arena.constant(*ir::make_constant(ir::DataType::float32, {4, 1, 1}, std::vector<double>(4, value)));
    return apply("relu", {apply("add", {convolution(x, value), bias})});
  };
  graph.outputs = {apply("concat", {branch(0.25), branch(0.5)}, {{"axis", ir::Poly(1)}})};
  const search::Outcome outcome = run(100, 5'000);
  ASSERT_TRUE(outcome.bound);
  EXPECT_EQ(outcome.bound->parts, 1U);
  EXPECT_EQ(outcome.bound->open_parts, 0U);
}

TEST_F(LargeGraph, MoreBudgetIsNeverWorseAndEqualBudgetsGiveTheSame) {
  double last = 1e300;
  for (const std::uint64_t states : {1, 300, 1500, 4000}) {
    const search::Outcome outcome = run(states);
    EXPECT_LE(outcome.after.count(), last);
    EXPECT_LE(outcome.states, states);
    EXPECT_EQ(outcome.stop, search::StopReason::max_states);
    last = outcome.after.count();
    const search::Outcome repeated = run(states);
    EXPECT_EQ(repeated.best, outcome.best);
    EXPECT_EQ(repeated.after.count(), outcome.after.count());
  }
}

}  // namespace
}  // namespace xflow::api
