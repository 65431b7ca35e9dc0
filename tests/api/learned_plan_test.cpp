// Where a search of splits goes on with a plan that was learned for whole operators.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

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

// All plans but the start plans are measured shorter than these at first, and then as long or longer.
TEST(PlacedOperators, AreComparedByTurnsAtLastWhereTheyAreMeasured) {
  parallel::TestSplit split = chains();
  for (const ParallelMethod method : {ParallelMethod::local, ParallelMethod::colocrl}) {
    for (const bool is_lucky : {true, false}) {
      ParallelizeOptions options;
      options.method = method;
      options.steps = 40;
      std::set<std::vector<std::uint32_t>> known;
      int runs = 0;
      const auto measure = [&](const parallel::SplitPlan& plan) -> Result<double> {
        std::vector<std::uint32_t> devices;
        for (const parallel::OperatorPlan& own : plan) devices.push_back(own.base);
        // One device is the best start plan.
        if (std::ranges::count(devices, devices[0]) == std::ssize(devices)) return 2;
        constexpr int kStarts = 8;  // list schedules, measured as plans and as groups
        if (++runs <= kStarts) return 3;
        if (known.insert(std::move(devices)).second) return 1;
        return is_lucky ? 3 : 1;
      };
      ParallelizeResult result;
      const auto plan = place_operators(*split.model, split.cluster, options, StepKind::inference, measure, result);
      ASSERT_TRUE(plan) << plan.error().text();
      const bool is_single = std::ranges::all_of(*plan, [&](const parallel::OperatorPlan& own) { return own.base == (*plan)[0].base; });
      EXPECT_EQ(is_lucky, is_single);
      EXPECT_EQ(is_lucky ? "single" : to_string(method), result.start);
      EXPECT_EQ(is_lucky, result.best_after == 0);
    }
  }
}

}  // namespace
}  // namespace xflow::api
