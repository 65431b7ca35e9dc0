// Moves of groups of operators, and what proposals are drawn by.
#include "src/parallel/group_moves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "src/parallel/kinds_by_gain.h"
#include "src/parallel/operator_groups.h"
#include "src/parallel/split_proposals.h"
#include "tests/parallel/split_graphs.h"

namespace xflow::parallel {
namespace {

// The share of a kind among the last half of the draws, after a proposal of which `gain` is learnt.
double share_of_kind(std::size_t kind, double gain, const KindsByGain<3>::Weights& weights) {
  RandomNumbers random(5);
  KindsByGain<3> kinds;
  int seen = 0;
  for (int k = 0; k < 4000; ++k) {
    const std::size_t drawn = kinds.draw(weights, random);
    EXPECT_GT(weights[drawn], 0);
    kinds.learn(drawn == kind ? gain : 0);
    seen += drawn == kind && k >= 2000 ? 1 : 0;
  }
  return seen / 2000.0;
}

TEST(KindsByGain, AreDrawnByTheirWeightsAndHalfByWhatTheyGained) {
  EXPECT_NEAR(0.25, share_of_kind(1, 0, {3, 1, 0}), 0.05);
  EXPECT_NEAR(0.25, share_of_kind(1, -1, {3, 1, 0}), 0.05);
  EXPECT_NEAR(0.625, share_of_kind(1, 1, {3, 1, 0}), 0.05);
  EXPECT_EQ(0, share_of_kind(2, 1, {3, 1, 0}));
}

// A chain of groups, each of which exchanges data with the next one.
std::vector<std::vector<std::uint32_t>> chain(std::uint32_t groups) {
  std::vector<std::vector<std::uint32_t>> neighbours(groups);
  for (std::uint32_t k = 0; k + 1 < groups; ++k) {
    neighbours[k].push_back(k + 1);
    neighbours[k + 1].push_back(k);
  }
  return neighbours;
}

TEST(GroupMoves, MoveOneGroupAClusterOnADeviceOrTwoThatExchange) {
  constexpr std::uint32_t kGroups = 40;
  const GroupMoves moves(chain(kGroups), 3);
  RandomNumbers random(1);
  std::set<std::size_t> sizes;
  for (int k = 0; k < 2000; ++k) {
    std::vector<std::uint32_t> before;
    before.reserve(kGroups);
    for (std::uint32_t group = 0; group < kGroups; ++group) before.push_back(group < kGroups / 2 ? 0 : 1);
    for (const GroupMoves::Kind kind : {GroupMoves::Kind::one, GroupMoves::Kind::cluster, GroupMoves::Kind::exchange}) {
      std::vector<std::uint32_t> places = before;
      moves.propose(kind, places, random);
      std::vector<std::uint32_t> moved;
      for (std::uint32_t group = 0; group < kGroups; ++group)
        if (places[group] != before[group]) moved.push_back(group);
      if (kind == GroupMoves::Kind::one) {
        EXPECT_LE(moved.size(), 1U);
      } else if (kind == GroupMoves::Kind::exchange) {
        EXPECT_EQ(std::ranges::count(before, 0U), std::ranges::count(places, 0U));
        EXPECT_LE(moved.size(), 2U);
      } else if (!moved.empty()) {
        // Neighbours of one device, which go to one device.
        EXPECT_EQ(moved.back() - moved.front() + 1, moved.size());
        EXPECT_EQ(before[moved.front()], before[moved.back()]);
        for (const std::uint32_t group : moved) EXPECT_EQ(places[moved[0]], places[group]);
        sizes.insert(moved.size());
      }
    }
  }
  EXPECT_EQ(2U, *sizes.begin());
  EXPECT_GE(*sizes.rbegin(), 12U);
  EXPECT_LE(*sizes.rbegin(), 14U);
}

OperatorGroups groups_of(TestSplit& split) {
  return operator_groups(*split.model, whole_seconds(*split.model, split.cluster.size(), StepKind::inference));
}

// Of a thousand proposals for a plan without whole operators: those that leave all groups that they change
// whole and on one device each.
int whole_proposals(TestSplit& split, const OperatorGroups& groups, const OperatorGroups& of_proposals) {
  RandomNumbers random(1);
  SplitProposals proposals(*split.model, split.cluster.size(), random, std::vector<double>(split.model->operators().size(), 1),
                           of_proposals);
  const SplitPlan plan(split.model->operators().size(), OperatorPlan{0, {{SplitTarget::copies, 0, 2, 1}}});
  int whole = 0;
  for (int k = 0; k < 1000; ++k) {
    SplitPlan next = plan;
    if (!proposals.propose(next)) {
      EXPECT_EQ(plan, next);
      continue;
    }
    proposals.learn(0);
    const auto is_placed = [&](const std::vector<std::uint32_t>& members) {
      const bool is_kept = std::ranges::all_of(members, [&](std::uint32_t op) { return next[op] == plan[op]; });
      const OperatorPlan there{next[members[0]].base, {}};
      return is_kept || std::ranges::all_of(members, [&](std::uint32_t op) { return next[op] == there; });
    };
    whole += next != plan && std::ranges::all_of(groups.members, is_placed) ? 1 : 0;
  }
  return whole;
}

TEST(SplitProposals, MoveWholeGroups) {
  for (auto make : {convolutions, attention, recurrent, concatenations}) {
    TestSplit split = split_of(make(), parallel::cluster_of(4));
    const OperatorGroups groups = groups_of(split);
    EXPECT_GT(whole_proposals(split, groups, groups), whole_proposals(split, groups, {}) + 100);
  }
}

TEST(OperatorGroups, KnowTheirNeighbours) {
  TestSplit split = split_of(attention(), parallel::cluster_of(3));
  const OperatorGroups groups = groups_of(split);
  const auto neighbours = neighbours_of(*split.model, groups);
  ASSERT_EQ(groups.members.size(), neighbours.size());
  std::size_t edges = 0;
  for (std::uint32_t group = 0; group < neighbours.size(); ++group) {
    EXPECT_TRUE(std::ranges::is_sorted(neighbours[group]));
    for (const std::uint32_t other : neighbours[group]) {
      EXPECT_NE(group, other);
      EXPECT_TRUE(std::ranges::binary_search(neighbours[other], group));
      ++edges;
    }
  }
  EXPECT_GT(edges, 0U);
  for (std::uint32_t op = 0; op < groups.of.size(); ++op) {
    for (const std::uint32_t read : split.model->operators()[op].reads) {
      const std::uint32_t maker = split.model->values()[read].maker;
      if (maker == kNoOperator || groups.of[maker] == groups.of[op]) continue;
      EXPECT_TRUE(std::ranges::binary_search(neighbours[groups.of[op]], groups.of[maker]));
    }
  }
}

}  // namespace
}  // namespace xflow::parallel
