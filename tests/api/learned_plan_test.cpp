// Where a search of splits goes on with a plan that was learned for whole operators.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "src/api/placed_operators.h"
#include "src/parallel/split_clock.h"
#include "tests/parallel/split_graphs.h"

namespace xflow::api {
namespace {

using parallel::StepKind;

// Two chains of products that a sum joins, on two devices.
parallel::TestSplit chains() {
  auto g = std::make_unique<parallel::TestGraph>();
  const parallel::ValueId x = g->apply("tanh", {g->input({8, 64})});
  parallel::ValueId ends[2] = {x, x};
  for (parallel::ValueId& end : ends)
    for (int k = 0; k < 4; ++k) end = g->apply("relu", {g->apply("matmul", {end, g->weights({64, 64})})});
  g->graph.outputs = {g->apply("add", {ends[0], ends[1]})};
  parallel::DeviceCluster cluster = parallel::cluster_of(2);
  cluster.inside = {1e-7, 1e9};
  return parallel::split_of(std::move(g), std::move(cluster));
}

TEST(LearnedPlan, IsMadeWhereSplitsGainLittleBesideWholeOperators) {
  parallel::TestSplit split = chains();
  parallel::FoundSplit found;
  found.starts = {{"data parallel", 1e-9}, {"single", 2}, {"heft", 1}, {"m-etf", 3}};
  ParallelizeOptions options;
  options.steps = 200;  // so that the test does not take its time
  options.progress = [&](std::uint64_t proposals, Seconds step) {
    EXPECT_GE(proposals, 50U);
    EXPECT_LE(step, Seconds(found.step));
  };
  found.proposals = 50;
  const auto plan_for = [&](double step, Seconds time) {
    found.step = step;
    return learned_plan(*split.model, split.cluster, options, StepKind::inference, found, time);
  };
  const auto plan = plan_for(0.95, Seconds(1e6));
  ASSERT_TRUE(plan);
  EXPECT_EQ("colocrl", plan->name);
  EXPECT_TRUE(std::ranges::all_of(plan->plan, [](const parallel::OperatorPlan& own) { return own.splits.empty(); }));
  // It is never worse than one device.
  parallel::SplitClock clock(*split.model, split.cluster, StepKind::inference);
  EXPECT_LE(*clock.cost(plan->plan), *clock.cost(parallel::SplitPlan(plan->plan.size())));
  EXPECT_FALSE(plan_for(0.92, Seconds(1e6)));
  EXPECT_FALSE(plan_for(0.95, Seconds(0)));
  options.cancel.finish();
  EXPECT_FALSE(plan_for(0.95, Seconds(1e6)));
}

}  // namespace
}  // namespace xflow::api
