// Workloads whose nodes are the tasks that fusions leave.
#include "src/parallel/fused_workload.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/parallel/ordered_graphs.h"

namespace xflow::parallel {
namespace {

TEST(FusedWorkload, HasTheStepOfTheFusedNodes) {
  RandomNumbers random(9);
  for (int round = 0; round < 300; ++round) {
    const OrderedCase made = random_ordered_case(random, 25);
    const OrderedPlan plan = random_ordered_plan(made, random);
    const FusedWorkload tasks = fused_workload(made.problem(), plan.fused);
    ASSERT_TRUE(check_workload(tasks.workload, made.cluster.size()));
    OrderedPlan of_tasks{{}, {}, {}};
    of_tasks.devices.resize(tasks.workload.nodes.size());
    of_tasks.priorities.resize(tasks.workload.nodes.size());
    for (std::size_t node = 0; node < tasks.task_of.size(); ++node) {
      // The root is the last node of its task.
      of_tasks.devices[tasks.task_of[node]] = plan.devices[node];
      of_tasks.priorities[tasks.task_of[node]] = plan.priorities[node];
    }
    const OrderedProblem problem{tasks.workload, made.cluster, {}};
    ASSERT_EQ(OrderedSimulator(problem).simulate(of_tasks), OrderedSimulator(made.problem()).simulate(plan)) << round;
  }
}

TEST(FusedWorkload, OfChainsHasPaths) {
  RandomNumbers random(10);
  for (int round = 0; round < 100; ++round) {
    const OrderedCase made = random_ordered_case(random, 40);
    const std::vector<bool> fused = chain_fusions(made.problem());
    std::set<std::uint32_t> readers;
    std::set<std::uint32_t> gaining;
    for (std::size_t k = 0; k < fused.size(); ++k) {
      if (made.fusions[k].saved > 0) gaining.insert(made.fusions[k].into);
      if (!fused[k]) continue;
      EXPECT_GT(made.fusions[k].saved, 0);
      EXPECT_TRUE(readers.insert(made.fusions[k].into).second);
      for (const FusionChoice& other : made.fusions)
        if (other.into == made.fusions[k].into) {
          EXPECT_LE(other.saved, made.fusions[k].saved);
        }
    }
    EXPECT_EQ(readers, gaining);
  }
}

}  // namespace
}  // namespace xflow::parallel
