#include "src/search/growth_plan.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace xflow::search {
namespace {

GrowthChoice choice(std::int64_t saved, std::int64_t bytes) { return {static_cast<cost::Ticks>(saved), bytes, {}}; }

std::vector<std::pair<std::int64_t, std::int64_t>> pairs(const GrowthChoices& choices) {
  std::vector<std::pair<std::int64_t, std::int64_t>> result;
  for (const GrowthChoice& c : choices) result.emplace_back(static_cast<std::int64_t>(c.saved), c.bytes);
  return result;
}

TEST(GrowthPlans, OnlyChoicesOfTheHullAreEfficient) {
  const GrowthChoices hull = efficient_choices({choice(0, 0), choice(9, 10), choice(5, 4), choice(6, 8), choice(4, 12), choice(-3, -2)});
  EXPECT_EQ(pairs(hull), (std::vector<std::pair<std::int64_t, std::int64_t>>{{-3, -2}, {0, 0}, {5, 4}, {9, 10}}));
  EXPECT_EQ(pairs(efficient_choices({choice(0, 0)})), (std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 0}}));
  // What is below the line between its neighbours is left out.
  EXPECT_EQ(efficient_choices({choice(0, 0), choice(1, 5), choice(10, 10)}).size(), 2U);
}

TEST(GrowthPlans, TheRoomGoesToWhatSavesMostPerByte) {
  const std::vector<GrowthChoices> parts = {{choice(0, 0), choice(10, 100)}, {choice(0, 0), choice(9, 30)}, {choice(0, 0), choice(8, 20)}};
  const GrowthPlan plan = plan_growth(parts, 60);
  EXPECT_EQ(plan.chosen, (std::vector<std::size_t>{0, 1, 1}));
  EXPECT_EQ(static_cast<std::int64_t>(plan.most), 9 + 8 + 1);  // a tenth of the first
  EXPECT_EQ(plan_growth(parts, 150).chosen, (std::vector<std::size_t>{1, 1, 1}));
  EXPECT_EQ(static_cast<std::int64_t>(plan_growth(parts, 150).most), 27);
  EXPECT_EQ(plan_growth(parts, 0).chosen, (std::vector<std::size_t>{0, 0, 0}));
}

TEST(GrowthPlans, APartThatShrinksMakesRoom) {
  const std::vector<GrowthChoices> parts = {{choice(3, -40)}, {choice(0, 0), choice(9, 30)}};
  EXPECT_EQ(plan_growth(parts, 0).chosen, (std::vector<std::size_t>{0, 1}));
}

// Compared with all combinations.
TEST(GrowthPlans, NothingSavesMoreThanTheBoundAndThePlanFits) {
  std::mt19937 random(1);
  const auto below = [&](int n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
  int tight = 0;
  for (int k = 0; k < 2'000; ++k) {
    std::vector<GrowthChoices> all;
    std::vector<GrowthChoices> parts;
    for (std::int64_t part = 1 + below(4); part > 0; --part) {
      GrowthChoices choices = {choice(0, 0)};
      for (std::int64_t more = below(4); more > 0; --more) choices.push_back(choice(below(60) - 10, below(50) - 8));
      parts.push_back(efficient_choices(choices));
      all.push_back(std::move(choices));
    }
    const std::int64_t room = below(80);
    const GrowthPlan plan = plan_growth(parts, room);
    std::int64_t planned = 0;
    std::int64_t bytes = 0;
    for (std::size_t part = 0; part < parts.size(); ++part) {
      planned += static_cast<std::int64_t>(parts[part][plan.chosen[part]].saved);
      bytes += parts[part][plan.chosen[part]].bytes;
    }
    ASSERT_LE(bytes, room);
    std::int64_t best = std::numeric_limits<std::int64_t>::min();
    std::vector<std::size_t> at(all.size(), 0);
    for (bool more = true; more;) {
      std::int64_t saved = 0;
      std::int64_t used = 0;
      for (std::size_t part = 0; part < all.size(); ++part) {
        saved += static_cast<std::int64_t>(all[part][at[part]].saved);
        used += all[part][at[part]].bytes;
      }
      if (used <= room) best = std::max(best, saved);
      more = false;
      for (std::size_t part = 0; part < all.size() && !more; ++part) {
        more = ++at[part] < all[part].size();
        if (!more) at[part] = 0;
      }
    }
    ASSERT_LE(planned, best);
    ASSERT_GE(static_cast<std::int64_t>(plan.most), best);
    tight += planned == best ? 1 : 0;
  }
  EXPECT_GT(tight, 1'200);
}

}  // namespace
}  // namespace xflow::search
