// Splits that a search tries one after the other.
#include "src/parallel/split_sweep.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "src/parallel/operator_groups.h"
#include "src/parallel/random_numbers.h"
#include "src/parallel/split_proposals.h"
#include "src/parallel/split_search.h"
#include "tests/parallel/split_graphs.h"

namespace xflow::parallel {
namespace {

constexpr std::uint32_t kDevices = 12;

std::vector<double> seconds_of(TestSplit& split) {
  return least_seconds(whole_seconds(*split.model, split.cluster.size(), StepKind::training));
}

TEST(SweptSplits, HaveEachDivisorOfEachAxisOfEachClass) {
  for (auto make : {convolutions, attention, recurrent, reductions}) {
    TestSplit split = split_of(make(), cluster_of(kDevices));
    const SplitModel& model = *split.model;
    const std::vector<SweptSplit> swept = swept_splits(model, kDevices, seconds_of(split));
    std::set<std::uint32_t> classes;
    for (const SweptSplit& own : swept) classes.insert(own.op);
    for (const std::uint32_t op : classes) {
      std::set<Split> found;
      for (const SweptSplit& own : swept) {
        if (own.op == op) {
          EXPECT_TRUE(found.insert(own.split).second);
        }
      }
      std::set<Split> expected;
      for (const Split& target : split_targets(model, op)) {
        for (const std::uint32_t degree : {2U, 3U, 4U, 6U, 12U})
          if (target.target != SplitTarget::copies) expected.insert({target.target, target.dimension, degree, 1});
      }
      EXPECT_EQ(expected, found);
    }
    // Every operator with parts is of the kind of one that is there, and one of those that share weights is.
    for (std::uint32_t op = 0; op < model.operators().size(); ++op) {
      const std::vector<std::uint32_t> tied = with_tied(model, op);
      if (split_targets(model, op).size() == 1) continue;
      if (tied.size() > 1) {
        EXPECT_TRUE(classes.contains(tied[0]));
      } else {
        EXPECT_TRUE(
            std::ranges::any_of(classes, [&](std::uint32_t other) { return model.operators()[other].kind == model.operators()[op].kind; }));
      }
    }
  }
}

TEST(SweptSplits, BeginWithTheClassThatHasMostTimeAndTheLargestDegree) {
  TestSplit split = split_of(attention(), cluster_of(kDevices));
  const SplitModel& model = *split.model;
  std::vector<double> seconds(model.operators().size(), 1);
  for (std::uint32_t op = 0; op < seconds.size(); ++op) {
    if (split_targets(model, op).size() == 1) continue;
    std::vector<double> own = seconds;
    own[op] = 1000;
    const std::vector<SweptSplit> swept = swept_splits(model, kDevices, own);
    EXPECT_EQ(model.operators()[op].kind, model.operators()[swept[0].op].kind);
    EXPECT_EQ(kDevices, swept[0].split.degree);
  }
}

// Steps of a recurrent network share their weights.
TEST(SweptSplits, OfStepsThatShareWeightsAreOne) {
  TestSplit split = split_of(recurrent(), cluster_of(2));
  const SplitModel& model = *split.model;
  std::size_t tied = 0;
  for (std::uint32_t op = 0; op < model.operators().size(); ++op) {
    const std::vector<std::uint32_t> all = with_tied(model, op);
    EXPECT_TRUE(std::ranges::is_sorted(all));
    EXPECT_TRUE(std::ranges::binary_search(all, op));
    for (const std::uint32_t other : all) EXPECT_EQ(all, with_tied(model, other));
    tied += all.size() > 1 ? 1 : 0;
  }
  EXPECT_GT(tied, 1U);
  std::set<std::vector<std::uint32_t>> classes;
  for (const SweptSplit& own : swept_splits(model, 2, seconds_of(split))) classes.insert(with_tied(model, own.op));
  std::set<std::uint32_t> members;
  for (const auto& own : classes)
    for (const std::uint32_t op : own) EXPECT_TRUE(members.insert(op).second);
}

TEST(SplitProposals, ArePossible) {
  for (auto make : {convolutions, attention, recurrent, reductions, concatenations}) {
    TestSplit split = split_of(make(), cluster_of(kDevices));
    SplitModel& model = *split.model;
    RandomNumbers random(5);
    SplitProposals proposals(model, kDevices, random, seconds_of(split));
    SplitPlan plan(model.operators().size());
    int changed = 0;
    for (int k = 0; k < 2000; ++k) {
      SplitPlan next = plan;
      if (!proposals.propose(next)) {
        EXPECT_EQ(plan, next);
        continue;
      }
      proposals.learn(0);
      if (next == plan) continue;
      ++changed;
      for (std::uint32_t op = 0; op < next.size(); ++op) ASSERT_TRUE(is_possible(model, op, next[op], kDevices));
      plan = std::move(next);
    }
    EXPECT_GT(changed, 500);
  }
}

}  // namespace
}  // namespace xflow::parallel
