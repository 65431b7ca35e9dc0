#include "src/eval/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace xflow::eval {
namespace {

// Counts of lanes around the widths of vectors.
const std::vector<std::int64_t> kCounts = {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 100};

// A view and its values, one a lane.
struct Lanes {
  std::vector<std::int64_t> values;  // less the base
  IndexView view;

  std::vector<std::int64_t> all() const {
    std::vector<std::int64_t> result(values.size());
    for (std::size_t l = 0; l < result.size(); ++l) result[l] = view.base + values[l];
    return result;
  }
};

class Drawn {
 public:
  explicit Drawn(std::uint64_t seed) : engine_(seed) {}

  std::int64_t number(std::int64_t low, std::int64_t high) { return std::uniform_int_distribution(low, high)(engine_); }

  // Linear or not, with bounds that are taken or wider.
  Lanes lanes(std::int64_t count) {
    Lanes drawn;
    drawn.view.base = number(-20, 20);
    drawn.view.stride = number(-2, 2);
    const bool linear = number(0, 1) == 0;
    for (std::int64_t l = 0; l < count; ++l) drawn.values.push_back(linear ? drawn.view.stride * l : number(-20, 20));
    if (!linear) drawn.view.values = drawn.values.data();
    const auto [least, most] = std::ranges::minmax(drawn.all());
    drawn.view.bounds = {least - number(0, 1), most + number(0, 1)};
    return drawn;
  }

  std::vector<std::uint8_t> mask(std::int64_t count) {
    std::vector<std::uint8_t> drawn;
    const std::int64_t often = number(1, 8);
    for (std::int64_t l = 0; l < count; ++l) drawn.push_back(number(0, often) == 0 ? 1 : 0);
    return drawn;
  }

 private:
  std::mt19937_64 engine_;
};

template <typename Body>
void for_all_counts(const Body& body) {
  Drawn drawn(7);
  for (const std::int64_t count : kCounts) {
    for (int round = 0; round < 50; ++round) {
      SCOPED_TRACE(count);
      body(drawn, count);
    }
  }
}

TEST(Kernels, AnAtomTakesAwayTheLanesThatDoNotSatisfyIt) {
  for_all_counts([](Drawn& drawn, std::int64_t count) {
    const Lanes x = drawn.lanes(count);
    const std::vector<std::uint8_t> before = drawn.mask(count);
    for (const ops::Relation relation : {ops::Relation::at_least_zero, ops::Relation::zero, ops::Relation::not_zero}) {
      std::vector<std::uint8_t> expected;
      for (std::size_t l = 0; l < before.size(); ++l) {
        const std::int64_t value = x.all()[l];
        const bool holds = relation == ops::Relation::at_least_zero ? value >= 0 : (value == 0) == (relation == ops::Relation::zero);
        expected.push_back(before[l] == 1 && holds ? 1 : 0);
      }
      std::vector<std::uint8_t> mask = before;
      apply_atom(mask.data(), x.view, relation, count);
      EXPECT_EQ(mask, expected);
    }
  });
}

TEST(Kernels, AMaskIsSplitIntoWhatIsTakenAndTheRest) {
  for_all_counts([](Drawn& drawn, std::int64_t count) {
    const std::vector<std::uint8_t> asked = drawn.mask(count);
    std::vector<std::uint8_t> taken = drawn.mask(count);
    std::vector<std::uint8_t> rest(taken.size());
    MaskCounts counts = split_mask(rest.data(), taken.data(), nullptr, count);
    EXPECT_EQ(counts.asked, count);
    EXPECT_EQ(counts.taken, std::ranges::count(taken, 1));
    for (std::size_t l = 0; l < rest.size(); ++l) EXPECT_EQ(rest[l], 1 - taken[l]);
    for (std::size_t l = 0; l < rest.size(); ++l) taken[l] &= asked[l];
    counts = split_mask(rest.data(), taken.data(), asked.data(), count);
    EXPECT_EQ(counts.asked, std::ranges::count(asked, 1));
    EXPECT_EQ(counts.taken, std::ranges::count(taken, 1));
    for (std::size_t l = 0; l < rest.size(); ++l) EXPECT_EQ(rest[l], asked[l] - taken[l]);
  });
}

TEST(Kernels, OffsetsOutsideOfTheMaskAreOthers) {
  for_all_counts([](Drawn& drawn, std::int64_t count) {
    const Lanes x = drawn.lanes(count);
    const std::vector<std::uint8_t> mask = drawn.mask(count);
    std::vector<std::int64_t> offsets(mask.size());
    masked_offsets(offsets.data(), x.view, mask.data(), 99, count);
    for (std::size_t l = 0; l < mask.size(); ++l) EXPECT_EQ(offsets[l], mask[l] == 1 ? x.values[l] : 99);
  });
}

TEST(Kernels, OffsetsAreWithinWhereEachThatIsAskedForIs) {
  int within = 0;
  int outside = 0;
  for_all_counts([&](Drawn& drawn, std::int64_t count) {
    const Lanes x = drawn.lanes(count);
    const std::vector<std::uint8_t> mask = drawn.mask(count);
    const std::int64_t size = drawn.number(1, 60);
    bool all = true;
    bool asked = true;
    for (std::size_t l = 0; l < mask.size(); ++l) {
      const std::int64_t value = x.all()[l];
      if (value >= 0 && value < size) continue;
      all = false;
      if (mask[l] == 1) asked = false;
    }
    ++(asked ? within : outside);
    EXPECT_EQ(all_within(x.view, nullptr, count, size), all);
    EXPECT_EQ(all_within(x.view, mask.data(), count, size), asked);
  });
  EXPECT_GT(within, 50);
  EXPECT_GT(outside, 50);
}

TEST(Kernels, LanesAreScaledAndAdded) {
  for_all_counts([](Drawn& drawn, std::int64_t count) {
    const Lanes x = drawn.lanes(count);
    const std::int64_t coefficient = drawn.number(-3, 3);
    std::vector<std::int64_t> sum(x.values.size(), 5);
    add_scaled_lanes(sum.data(), x.values.data(), coefficient, count);
    std::vector<std::int64_t> scaled(x.values.size(), 5);
    scale_lanes(scaled.data(), x.values.data(), coefficient, count);
    std::vector<double> floats(x.values.size(), 5);
    const std::vector<double> added(x.values.begin(), x.values.end());
    add_lanes(floats.data(), added.data(), count);
    for (std::size_t l = 0; l < sum.size(); ++l) {
      EXPECT_EQ(sum[l], 5 + coefficient * x.values[l]);
      EXPECT_EQ(scaled[l], coefficient * x.values[l]);
      EXPECT_EQ(floats[l], 5 + added[l]);
    }
  });
}

TEST(Kernels, LanesAreLinearWhereAllStepsAreEqual) {
  int linear = 0;
  for_all_counts([&](Drawn& drawn, std::int64_t count) {
    const Lanes x = drawn.lanes(count);
    std::vector<std::int64_t> values = x.all();
    const std::int64_t first = values[0];
    const std::int64_t stride = count > 1 ? values[1] - first : 0;
    bool expected = true;
    for (std::int64_t l = 0; l < count; ++l) expected = expected && values[static_cast<std::size_t>(l)] == first + stride * l;
    const std::vector<std::int64_t> before = values;
    EXPECT_EQ(subtract_first(values.data(), first, stride, count), expected);
    for (std::size_t l = 0; l < values.size(); ++l) EXPECT_EQ(values[l], before[l] - first);
    linear += expected ? 1 : 0;
  });
  EXPECT_GT(linear, 100);
}

// The values of a form on the lanes of each block, and what is said of them.
TEST(Lanes, FormsHaveTheValuesOfTheirVariablesWithinTheirBounds) {
  Drawn drawn(11);
  int tight = 0;
  for (int round = 0; round < 300; ++round) {
    Stage stage;
    for (int k = 0; k < 4; ++k) stage.extents.push_back(drawn.number(1, 6));
    stage.lanes = {1, 3, 0};  // 2 is scalar
    IndexForm form;
    form.constant = drawn.number(-5, 5);
    for (int k = 0; k < 4; ++k) {
      if (const std::int64_t coefficient = drawn.number(-3, 3); coefficient != 0) form.variables.push_back({k, coefficient});
    }
    stage.forms = {form};
    const std::vector<Source> none;
    const std::int64_t most = drawn.number(1, 40);
    LoopState loops(stage, none, most);
    const std::int64_t total = stage.extents[0] * stage.extents[1] * stage.extents[3];
    for (std::int64_t first = 0; first < total;) {
      const std::int64_t count = std::min(drawn.number(1, most), total - first);
      loops.set_block(first, count);
      const std::int64_t scalar = drawn.number(0, stage.extents[2] - 1);
      loops.set(2, scalar);
      const IndexView view = loops.form(0);
      std::int64_t least = std::numeric_limits<std::int64_t>::max();
      std::int64_t greatest = std::numeric_limits<std::int64_t>::min();
      for (std::int64_t l = 0; l < count; ++l) {
        std::int64_t rest = first + l;
        std::vector<std::int64_t> at(4, scalar);
        for (const int variable : {0, 3, 1}) {
          const auto v = static_cast<std::size_t>(variable);
          at[v] = rest % stage.extents[v];
          rest /= stage.extents[v];
        }
        std::int64_t expected = form.constant;
        for (const IndexTerm& term : form.variables) expected += term.coefficient * at[static_cast<std::size_t>(term.id)];
        ASSERT_EQ(view.at(l), expected) << "round " << round << ", lane " << first + l;
        least = std::min(least, expected);
        greatest = std::max(greatest, expected);
      }
      EXPECT_LE(view.bounds.low, least);
      EXPECT_GE(view.bounds.high, greatest);
      if (view.bounds.low == least && view.bounds.high == greatest) ++tight;
      first += count;
    }
  }
  EXPECT_GT(tight, 300);
}

// A bound that does not fit an integer says nothing.
TEST(Lanes, BoundsBeyondTheIntegersAreAllIntegers) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  Stage stage;
  stage.extents = {3};
  stage.lanes = {0};
  for (const std::int64_t coefficient : {kHuge, -kHuge}) {
    IndexForm form;
    form.variables = {{0, coefficient}};
    stage.forms.push_back(form);
  }
  const std::vector<Source> none;
  LoopState loops(stage, none, 8);
  loops.set_block(0, 2);
  EXPECT_EQ(loops.form(0).bounds.low, 0);
  EXPECT_EQ(loops.form(0).bounds.high, kHuge);
  EXPECT_EQ(loops.form(1).bounds.low, -kHuge);
  EXPECT_EQ(loops.form(1).bounds.high, 0);
  loops.set_block(1, 2);
  EXPECT_EQ(loops.form(0).bounds.low, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(loops.form(0).bounds.high, std::numeric_limits<std::int64_t>::max());
}

}  // namespace
}  // namespace xflow::eval
