// Memory and plans, without a device.
#include "src/runtime/plan.h"

#include <gtest/gtest.h>

#include <random>

#include "src/cost/database.h"
#include "src/ops/operator.h"
#include "tests/kernels/random_device.h"

namespace xflow::cost {
namespace {

using ir::DataType;
using ir::TensorType;
using ir::ValueId;

std::vector<ir::Poly> integer_list(const std::vector<std::int64_t>& values) { return ir::polys(values); }

bool lives_with(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

std::size_t most_at_once(const std::vector<Lifetime>& lives) {
  std::size_t most = 0;
  for (const Lifetime& at : lives) {
    std::size_t sum = 0;
    for (const Lifetime& other : lives)
      if (other.first <= at.first && at.first <= other.last) sum += other.bytes;
    most = std::max(most, sum);
  }
  return most;
}

TEST(Placement, OfAChainTakesTwoBuffers) {
  std::vector<Lifetime> chain;
  for (std::size_t k = 0; k < 10; ++k) chain.push_back({64, k, k + 1});
  EXPECT_EQ(place(chain).bytes, 128U);
}

TEST(Placement, TakesTheSmallestGap) {
  // While the three large ones live there are gaps of 256 and 128 bytes between them, once what made them is gone.
  const std::vector<Lifetime> lives = {{1024, 0, 9}, {256, 0, 1}, {1023, 0, 9}, {128, 0, 1}, {1022, 0, 9}, {100, 2, 3}, {200, 2, 3}};
  const Placement placement = place(lives);
  EXPECT_EQ(placement.bytes, 3 * 1024U + 256U + 128U);
  EXPECT_EQ(placement.offsets[5], placement.offsets[3]);
  EXPECT_EQ(placement.offsets[6], placement.offsets[1]);
}

TEST(Placement, NeverOverlapsWhatLivesAtTheSameTime) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<Lifetime> lives;
    for (int k = 0; k < 60; ++k) {
      const std::size_t first = random() % 40;
      lives.push_back({random() % 5000, first, first + random() % 10});
    }
    const Placement placement = place(lives);
    std::size_t sum = 0;
    for (std::size_t a = 0; a < lives.size(); ++a) {
      EXPECT_EQ(placement.offsets[a] % 64, 0U);
      EXPECT_LE(placement.offsets[a] + lives[a].bytes, placement.bytes);
      sum += lives[a].bytes;
      for (std::size_t b = 0; b < a; ++b) {
        if (lives[a].bytes == 0 || lives[b].bytes == 0 || !lives_with(lives[a], lives[b])) continue;
        const bool apart =
            placement.offsets[a] + lives[a].bytes <= placement.offsets[b] || placement.offsets[b] + lives[b].bytes <= placement.offsets[a];
        ASSERT_TRUE(apart) << a << " and " << b;
      }
    }
    EXPECT_LT(placement.bytes, sum / 2);
    EXPECT_LE(placement.bytes, 2 * most_at_once(lives));
  }
}

class PlanTest : public ::testing::Test {
 protected:
  ValueId input(std::vector<std::int64_t> dims, DataType type = DataType::float32) {
    return arena.input(TensorType{type, true, ir::polys(dims)}, next_++);
  }
  ValueId op(const std::string& name, std::vector<ValueId> operands, ir::Attributes attributes = {}) {
    auto value = ops::apply(arena, name, std::move(operands), std::move(attributes));
    EXPECT_TRUE(value) << value.error().text();
    return *value;
  }
  Plan plan_of(const ir::Graph& graph) { return plan_of(graph, device); }
  Plan plan_of(const ir::Graph& graph, Device& on) {
    const auto sizes = [](ir::SymbolId) { return std::nullopt; };
    Database database = Database::open("", on.info());
    CostModel costs(arena, on, database, sizes);
    const auto cover = costs.launches(graph);
    EXPECT_TRUE(cover);
    return make_plan(arena, graph, *cover, sizes);
  }

  ir::Arena arena;
  RandomDevice device{3, RandomDevice::noisy};

 private:
  std::uint32_t next_ = 0;
};

TEST_F(PlanTest, AReshapeIsAViewThatKeepsItsMemoryAlive) {
  const ValueId x = input({4, 6});
  const ValueId y = op("softmax", {x}, {{"axis", ir::Poly(1)}});
  const ValueId seen = op("reshape", {y}, {{"shape", integer_list({24})}});
  const ValueId sum = op("reduce_sum", {y}, {{"axes", integer_list({1})}, {"keep_dims", ir::Poly(0)}});
  const ValueId last = op("add", {op("reduce_max", {seen}, {{"axes", integer_list({0})}, {"keep_dims", ir::Poly(1)}}), sum});
  const Plan plan = plan_of({{last}});
  const auto find = [&](ValueId value) {
    for (std::size_t k = 0; k < plan.buffers.size(); ++k)
      if (plan.buffers[k].value == value) return static_cast<BufferId>(k);
    ADD_FAILURE() << "no buffer";
    return BufferId{};
  };
  EXPECT_EQ(plan.memory_of(find(seen)), plan.memory_of(find(y)));
  EXPECT_EQ(plan.launches.size(), 4U);
  const Placement placement = place(plan, 0);
  EXPECT_EQ(placement.offsets[static_cast<std::size_t>(find(seen))], placement.offsets[static_cast<std::size_t>(find(y))]);
}

// Makes splits of any alignment views.
class ViewingDevice final : public RandomDevice {
 public:
  using RandomDevice::RandomDevice;
  ViewSupport views() const override { return {{ops::Op::Slice, ops::Op::Split}, 1}; }
};

class ViewPlanTest : public PlanTest {
 protected:
  // The softmax of 12 numbers, in parts of 4, of which the last one is cut again.
  void SetUp() override {
    const ValueId y = op("softmax", {input({12})}, {{"axis", ir::Poly(0)}});
    const ValueId parts = op("split", {y}, {{"axis", ir::Poly(0)}, {"sizes", integer_list({4, 4, 4})}});
    a = {parts.node, 0}, b = {parts.node, 1}, c = {parts.node, 2};
    half = op("slice", {c}, {{"starts", integer_list({2})}, {"sizes", integer_list({2})}, {"steps", integer_list({1})}});
  }
  static BufferId find(const Plan& plan, ValueId value) {
    for (std::size_t k = 0; k < plan.buffers.size(); ++k)
      if (plan.buffers[k].value == value) return static_cast<BufferId>(k);
    ADD_FAILURE() << "no buffer";
    return BufferId{};
  }
  ValueId softmax(ValueId x) { return op("softmax", {x}, {{"axis", ir::Poly(0)}}); }

  ValueId a, b, c, half;
  ViewingDevice viewing{3, RandomDevice::noisy};
};

TEST_F(ViewPlanTest, PartsAreViewsAtTheirOffsets) {
  const ir::Graph graph{{softmax(a), softmax(b), softmax(half)}};
  EXPECT_EQ(plan_of(graph).launches.size(), 6U);
  const Plan plan = plan_of(graph, viewing);
  ASSERT_EQ(plan.launches.size(), 4U);
  const BufferId whole = plan.launches[0].results[0];
  const Placement placement = place(plan, 0);
  for (const auto& [value, offset] : {std::pair(a, 0U), {b, 16U}, {c, 32U}, {half, 40U}}) {
    const BufferId id = find(plan, value);
    EXPECT_EQ(plan.memory_of(id), whole);
    EXPECT_EQ(plan.buffer(id).offset, offset);
    EXPECT_EQ(placement.offsets[static_cast<std::size_t>(id)], placement.offsets[static_cast<std::size_t>(whole)] + offset);
  }
}

TEST_F(ViewPlanTest, APartIsOverwrittenOnlyIfNoOtherPartIsReadLater) {
  Plan plan = plan_of({{softmax(softmax(b)), softmax(softmax(c))}}, viewing);
  ASSERT_EQ(plan.launches.size(), 5U);
  std::vector<std::size_t> readers;
  for (std::size_t k = 1; k < 5; ++k)
    if (plan.memory_of(*plan.launches[k].operands[0]) == plan.launches[0].results[0]) readers.push_back(k);
  ASSERT_EQ(readers.size(), 2U);
  EXPECT_FALSE(dies_at(plan, readers[0], 0));
  ASSERT_TRUE(dies_at(plan, readers[1], 0));
  const std::size_t offset = plan.buffer(*plan.launches[readers[1]].operands[0]).offset;
  EXPECT_GT(offset, 0U);
  put_in_place(plan, readers[1], 0);
  const BufferId result = plan.launches[readers[1]].results[0];
  EXPECT_EQ(plan.memory_of(result), plan.launches[0].results[0]);
  EXPECT_EQ(plan.buffer(result).offset, offset);
}

TEST_F(ViewPlanTest, OutputsThatAreViewsKeepTheWholeMemory) {
  const Plan plan = plan_of({{a, softmax(softmax(b))}}, viewing);
  ASSERT_EQ(plan.launches.size(), 3U);
  EXPECT_FALSE(dies_at(plan, 1, 0));
  EXPECT_EQ(plan.buffer(*plan.outputs[0].buffer).offset, 0U);
  EXPECT_EQ(plan.memory_of(*plan.outputs[0].buffer), plan.launches[0].results[0]);
}

TEST_F(ViewPlanTest, RunAlikeOnlyWhereTheSamePartsAreRead) {
  EXPECT_TRUE(run_alike(plan_of({{softmax(b)}}, viewing), plan_of({{softmax(b)}}, viewing)));
  EXPECT_FALSE(run_alike(plan_of({{softmax(a)}}, viewing), plan_of({{softmax(b)}}, viewing)));
}

TEST_F(PlanTest, InputsAndOutputsAreNeverOverwritten) {
  const ValueId x = input({8});
  const ValueId y = op("softmax", {x}, {{"axis", ir::Poly(0)}});
  const ValueId z = op("log_softmax", {y}, {{"axis", ir::Poly(0)}});
  const ValueId w = op("softmax", {z}, {{"axis", ir::Poly(0)}});
  Plan plan = plan_of({{y, w}});
  ASSERT_EQ(plan.launches.size(), 3U);
  EXPECT_FALSE(dies_at(plan, 0, 0));  // the input
  EXPECT_FALSE(dies_at(plan, 1, 0));  // an output
  EXPECT_TRUE(dies_at(plan, 2, 0));
  put_in_place(plan, 2, 0);
  EXPECT_EQ(plan.memory_of(plan.launches[2].results[0]), plan.memory_of(plan.launches[1].results[0]));
  EXPECT_EQ(place(plan, 0).bytes, 3 * 64U);
}

TEST_F(PlanTest, KnowsWhichLaunchNeedsAnInputAndWhichCompletesAnOutput) {
  const auto softmax = [&](ValueId x) { return op("softmax", {x}, {{"axis", ir::Poly(0)}}); };
  const ValueId x = input({12, 12});
  const ValueId z = input({144});
  const ValueId unread = input({3});
  const ValueId output = input({4});
  const ValueId first = softmax(x);
  const ValueId view = op("reshape", {z}, {{"shape", integer_list({12, 12})}});
  const ValueId second = op("matmul", {first, softmax(view)});
  const ValueId seen = op("reshape", {second}, {{"shape", integer_list({144})}});
  const Plan plan = plan_of({{first, seen, output, softmax(second)}});
  ASSERT_EQ(plan.launches.size(), 4U);
  const auto computes = [&](ValueId value) {
    for (std::size_t k = 0; k < 4; ++k)
      if (plan.buffer(plan.launches[k].results[0]).value == value) return k;
    return std::size_t{4};
  };
  EXPECT_EQ(needed_before(plan, x), computes(first));
  EXPECT_EQ(needed_before(plan, z), 1 - computes(first));  // the other softmax, which reads a view
  EXPECT_EQ(needed_before(plan, unread), 4U);
  EXPECT_EQ(needed_before(plan, output), 0U);
  EXPECT_EQ(complete_before(plan, 0), computes(first) + 1);
  EXPECT_EQ(complete_before(plan, 1), 3U);
  EXPECT_EQ(complete_before(plan, 2), 0U);
  EXPECT_EQ(complete_before(plan, 3), 4U);
}

TEST_F(PlanTest, WhatIsReadAgainIsNotOverwritten) {
  const ValueId x = input({8});
  const ValueId y = op("softmax", {x}, {{"axis", ir::Poly(0)}});
  const ValueId z = op("log_softmax", {y}, {{"axis", ir::Poly(0)}});
  const ValueId w = op("matmul", {y, z});
  const Plan plan = plan_of({{w}});
  ASSERT_EQ(plan.launches.size(), 3U);
  EXPECT_FALSE(dies_at(plan, 1, 0));
  EXPECT_TRUE(dies_at(plan, 2, 0));
}

TEST_F(PlanTest, WhatPassesInARunHasABlockOfItsOwn) {
  const ValueId x = input({64});
  const ValueId y = op("softmax", {x}, {{"axis", ir::Poly(0)}});
  const ValueId view = op("reshape", {y}, {{"shape", integer_list({8, 8})}});
  const ValueId z = op("softmax", {view}, {{"axis", ir::Poly(0)}});
  const ValueId out = op("softmax", {z}, {{"axis", ir::Poly(1)}});
  const Plan plan = plan_of({{out, op("reshape", {out}, {{"shape", integer_list({64})}})}});
  const DividedPlacement divided = place_divided(plan, 0);
  ASSERT_EQ(divided.is_kept.size(), plan.buffers.size());
  for (std::size_t k = 0; k < plan.buffers.size(); ++k) {
    const ValueId value = plan.buffers[k].value;
    EXPECT_EQ(divided.is_kept[k], value != y && value != view && value != z) << k;
    EXPECT_LE((divided.is_kept[k] ? divided.kept : divided.passing).offsets[k] + 64 * sizeof(float),
              (divided.is_kept[k] ? divided.kept : divided.passing).bytes);
  }
  // The input and the output; y and z, which lives when y is read.
  EXPECT_EQ(divided.kept.bytes, 2 * 64 * sizeof(float));
  EXPECT_EQ(divided.passing.bytes, 2 * 64 * sizeof(float));
}

TEST_F(PlanTest, OpaqueNodesSplitIt) {
  const ValueId x = input({8});
  const ValueId y = op("softmax", {x}, {{"axis", ir::Poly(0)}});
  const ValueId unknown{arena.opaque(0, {y}, {TensorType{DataType::float32, true, integer_list({8})}}), 0};
  const ValueId z = op("log_softmax", {unknown}, {{"axis", ir::Poly(0)}});
  const Plan plan = plan_of({{z}});
  EXPECT_EQ(plan.launches.size(), 2U);
  EXPECT_EQ(plan.nodes, 3U);
  EXPECT_EQ(plan.nodes_run, 2U);
  EXPECT_NEAR(plan.share_not_run(), 1.0 / 3, 1e-12);
  ASSERT_EQ(plan.refusals.size(), 1U);
  EXPECT_EQ(plan.refusals[0], "cannot run opaque node 0 here");
  EXPECT_EQ(plan.buffer(*plan.launches[1].operands[0]).kind, Buffer::Kind::seeded);
}

TEST_F(PlanTest, RunAlikeWhereTheSameKernelsFollowEachOther) {
  const ir::Attributes axis = {{"axis", ir::Poly(0)}};
  const ValueId x = input({8});
  const ValueId y = input({8});
  const ValueId seen = op("reshape", {op("reshape", {x}, {{"shape", integer_list({2, 4})}})}, {{"shape", integer_list({8})}});
  const auto chain = [&](ValueId from, const std::string& last) { return op(last, {op("softmax", {from}, axis)}, axis); };
  const Plan plan = plan_of({{chain(x, "log_softmax")}});
  EXPECT_TRUE(run_alike(plan, plan));
  EXPECT_TRUE(run_alike(plan, plan_of({{chain(seen, "log_softmax")}})));
  EXPECT_TRUE(run_alike(plan, plan_of({{chain(y, "log_softmax")}})));
  EXPECT_FALSE(run_alike(plan, plan_of({{chain(x, "softmax")}})));
  EXPECT_FALSE(run_alike(plan, plan_of({{op("softmax", {x}, axis)}})));
  EXPECT_FALSE(run_alike(plan_of({{op("softmax", {x}, axis)}}), plan));
}

TEST_F(PlanTest, RunAlikeOnlyWhereMemoryIsUsedAlike) {
  const ValueId x = input({8});
  const ValueId y = input({8});
  const Plan one = plan_of({{op("matmul", {x, x})}});
  const Plan two = plan_of({{op("matmul", {x, y})}});
  EXPECT_FALSE(run_alike(one, two));
  EXPECT_FALSE(run_alike(two, one));
}

TEST(BytesOf, CountsThePaddingOfBlockedLayouts) {
  const ops::TensorSpec tensor{DataType::float32, {2, 3, 5, 7}, false};
  EXPECT_EQ(bytes_of(tensor, Layout::plain), 840U);
  EXPECT_EQ(bytes_of(tensor, Layout::channels_last), 840U);
  EXPECT_EQ(bytes_of(tensor, Layout::blocked8), 2240U);
  EXPECT_EQ(bytes_of({DataType::boolean, {3}, false}, Layout::plain), 3U);
}

}  // namespace
}  // namespace xflow::cost
