// Covers that follow a graph cost what covers made from scratch cost.
#include "src/cost/incremental_cover.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "src/cost/cost_model.h"
#include "src/ops/kernel_text.h"
#include "src/ops/op.h"
#include "src/ops/operator.h"

namespace xflow::cost {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::Replacement;
using ir::ValueId;
using ir::WorkGraph;

// A device whose costs, layouts and abilities look random and depend on the text of the kernel alone.
class ScatteredDevice final : public Device {
 public:
  ScatteredDevice() { info_.name = "scattered"; }
  const DeviceInfo& info() const override { return info_; }
  bool chooses_layout(const ops::KernelSpec& spec) const override { return spec.is(ops::Op::Conv); }
  bool works_in(const ops::KernelSpec& spec, Layout layout) const override {
    return layout == Layout::plain ||
           (!spec.is(ops::Op::Matmul) && scatter(ops::kernel_name(spec), static_cast<unsigned>(layout)) % 3 != 0);
  }
  bool can_fuse(const ops::KernelSpec& base, const ops::PostOperation& post) const override {
    return base.is(ops::Op::Conv) || base.is(ops::Op::Matmul) || is_pointwise(base)
               ? scatter(ops::kernel_name(base) + ops::step_name(post), base.post.size()) % 4 != 0
               : false;
  }
  ViewSupport views() const override { return {{ops::Op::Slice, ops::Op::Split}, 1}; }
  bool has_attention(const ops::KernelSpec& spec) const override { return scatter(ops::to_string(spec), 1) % 4 != 0; }
  Result<KernelCost> measure(const ops::KernelSpec& spec, Layout layout) override {
    if (spec.is(ops::KernelFamily::attention)) ++attentions;
    if (spec.is(ops::Op::Erf)) return fail(ErrorCode::unsupported, "cannot run erf here");
    const std::uint64_t h = scatter(ops::to_string(spec), static_cast<unsigned>(layout));
    KernelCost cost{Nanoseconds(1 + static_cast<double>(h % 100'000) / 7), Nanoseconds(0), 1, layout, layout};
    if (layout == Layout::any) {
      cost.operands = h % 2 == 0 ? Layout::channels_last : Layout::blocked8;
      cost.results = h % 3 == 0 ? Layout::plain : cost.operands;
    }
    return cost;
  }

  int attentions = 0;  // that were timed

 private:
  static std::uint64_t scatter(const std::string& text, std::uint64_t seed) {
    std::uint64_t h = seed + 0x9E3779B97F4A7C15ULL;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
    return h ^ (h >> 31U);
  }
  DeviceInfo info_;
};

// Random graphs over tensors of one type, and random changes of them: what they compute does not matter here.
class IncrementalCoverTest : public ::testing::Test {
 protected:
  ValueId op(ir::Arena& in, const std::string& name, std::vector<ValueId> operands, ir::Attributes attributes = {}) {
    auto value = ops::apply(in, name, std::move(operands), std::move(attributes));
    EXPECT_TRUE(value) << value.error().text();
    return *value;
  }
  ValueId constant(ir::Arena& in, std::vector<std::int64_t> dims, double first) {
    std::int64_t n = 1;
    for (const std::int64_t d : dims) n *= d;
    std::vector<double> values(static_cast<std::size_t>(n), first);
    return in.constant(ir::make_constant(ir::DataType::float32, std::move(dims), values).value());
  }
  // Of a query, a key and, now and then, a mask.
  ValueId random_attention(ir::Arena& in, ValueId query, ValueId key, ValueId value, ValueId mask) {
    const ir::Attributes perm{{"perm", ir::polys(std::vector<std::int64_t>{0, 1, 3, 2})}};
    ValueId scores = op(in, "matmul", {query, op(in, "transpose", {key}, perm)});
    if (random() % 2 == 0) scores = op(in, "mul", {scores, constant(in, {}, static_cast<double>(1 + random() % 2))});
    if (random() % 2 == 0) scores = op(in, "add", {scores, mask});
    return op(in, "matmul", {op(in, "softmax", {scores}, {{"axis", ir::Poly(3)}}), value});
  }
  // An operation on some of `values`: pointwise, a convolution, a composite, a mean, a transpose and back, attention.
  ValueId random_operation(ir::Arena& in, const std::vector<ValueId>& values) {
    const ValueId x = values[random() % values.size()];
    const ValueId y = values[random() % values.size()];
    switch (random() % (with_parts ? 18 : 16)) {
      case 0:
      case 1: {
        ir::Attributes attributes;
        attributes.set("strides", ir::polys(std::vector<std::int64_t>{1, 1}));
        attributes.set("pads", ir::polys(std::vector<std::int64_t>{1, 1, 1, 1}));
        attributes.set("dilations", ir::polys(std::vector<std::int64_t>{1, 1}));
        attributes.set("groups", ir::Poly(1));
        return op(in, "conv", {x, constant(in, {8, 8, 3, 3}, static_cast<double>(random() % 4))}, attributes);
      }
      case 2:
        return op(in, "relu", {x});
      case 3:
        return op(in, "erf", {x});
      case 4:
        return op(in, "mul", {x, op(in, "sigmoid", {x})});
      case 5:
        return op(in, "add", {x, constant(in, {1, 8, 1, 1}, static_cast<double>(random() % 3))});
      case 6:
        return op(in, "mul", {x, constant(in, {}, 2)});
      case 7:
        return op(in, "pow", {x, constant(in, {}, 2)});
      case 8: {
        const ir::Attributes perm{{"perm", ir::polys(std::vector<std::int64_t>{0, 1, 3, 2})}};
        return op(in, "transpose", {op(in, "transpose", {x}, perm)}, perm);
      }
      case 9: {
        const ir::Attributes axes{{"axes", ir::polys(std::vector<std::int64_t>{3})}, {"keep_dims", ir::Poly(1)}};
        const ValueId centered = op(in, "sub", {x, op(in, "reduce_mean", {x}, axes)});
        const ValueId variance = op(in, "reduce_mean", {op(in, "mul", {centered, centered})}, axes);
        return op(in, "div", {centered, op(in, "sqrt", {op(in, "add", {variance, constant(in, {}, 1e-5)})})});
      }
      case 10:
        return op(in, "mul", {x, y});
      case 11:
        return op(in, "identity", {x});
      case 16: {  // parts of channels, which are contiguous, and of columns, which are not
        const std::int64_t axis = random() % 3 == 0 ? 3 : 1;
        const std::vector<std::int64_t> sizes = axis == 1 ? std::vector<std::int64_t>{3, 5} : std::vector<std::int64_t>{2, 4};
        const ValueId parts = op(in, "split", {x}, {{"axis", ir::Poly(axis)}, {"sizes", ir::polys(sizes)}});
        return op(in, "concat", {{parts.node, 1}, {parts.node, 0}}, {{"axis", ir::Poly(axis)}});
      }
      case 17: {
        const ir::Attributes slice{{"starts", ir::polys(std::vector<std::int64_t>{0, 3, 0, 0})},
                                   {"sizes", ir::polys(std::vector<std::int64_t>{1, 1, 6, 6})},
                                   {"steps", ir::polys(std::vector<std::int64_t>{1, 1, 1, 1})}};
        return op(in, "add", {y, op(in, "slice", {x}, slice)});
      }
      case 12:
      case 13:
        return random_attention(in, x, y, values[random() % values.size()], values[random() % values.size()]);
      default:
        return op(in, "add", {x, y});
    }
  }

  Graph random_graph(std::size_t size) {
    std::vector<ValueId> values;
    for (std::uint32_t k = 0; k < 2; ++k)
      values.push_back(arena.input(ir::TensorType{ir::DataType::float32, true, ir::polys(std::vector<std::int64_t>{1, 8, 6, 6})}, k));
    while (values.size() < size) {
      // Mostly on what is new: a deep graph.
      std::vector<ValueId> recent(values.end() - static_cast<std::ptrdiff_t>(std::min<std::size_t>(values.size(), 4)), values.end());
      values.push_back(random_operation(arena, random() % 5 == 0 ? values : recent));
    }
    return Graph{{values.back(), values[size / 2]}};
  }

  // Values of the graph that runs.
  static std::vector<ValueId> values_of(const WorkGraph& work) {
    std::vector<ValueId> values;
    for (const NodeId id : work.order())
      if (work.arena().type({id, 0}).shape == ir::polys(std::vector<std::int64_t>{1, 8, 6, 6})) values.push_back({id, 0});
    return values;
  }

  // One random change; false, and nothing changed, where the graph would depend on itself.
  bool change(WorkGraph& work) {
    const auto mark = work.mark();
    const std::vector<ValueId> values = values_of(work);
    if (values.empty()) return false;
    const ValueId from = values[random() % values.size()];
    ValueId to = random() % 3 == 0 ? values[random() % values.size()] : random_operation(work.arena(), values);
    if (random() % 12 == 0) to = constant(work.arena(), {1, 8, 6, 6}, 1);  // what reads it becomes an expression of constants
    if (work.replace(std::vector<Replacement>{{from, to}}, mark)) return true;
    work.undo(mark);
    return false;
  }

  std::uint32_t random() { return static_cast<std::uint32_t>(generator_()); }

  ir::Arena arena;
  ScatteredDevice device;
  Database database = Database::open("", device.info());
  CostModel model{arena, device, database, [](ir::SymbolId) { return std::nullopt; }};
  bool with_parts = false;  // operations also split and slice
  std::mt19937 generator_{7};
};

// Compares the cover and the graph that follow random changes with those made from scratch.
class FollowedGraphs : public IncrementalCoverTest {
 protected:
  void follow_changes();
};

void FollowedGraphs::follow_changes() {
  int changes = 0;
  for (int round = 0; round < 40; ++round) {
    WorkGraph work(arena, random_graph(10 + static_cast<std::size_t>(round)));
    KernelCosts costs(device, database);
    Regions regions(costs, [](ir::SymbolId) { return std::nullopt; });
    IncrementalCover cover(work, regions);
    const auto now = [&] { return Cost{nanoseconds(cover.time()), cover.kernels(), cover.unmeasured()}; };
    struct Moment {
      WorkGraph::Mark graph;
      std::size_t cover;
      Cost cost;
      std::uint64_t hash;
      std::uint64_t constant_bytes;
    };
    std::vector<Moment> moments;
    for (int step = 0; step < 40; ++step) {
      if (!moments.empty() && random() % 3 == 0) {
        work.undo(moments.back().graph);
        cover.undo(moments.back().cover);
        EXPECT_EQ(now(), moments.back().cost);
        EXPECT_EQ(work.hash(), moments.back().hash);
        EXPECT_EQ(work.constant_bytes(), moments.back().constant_bytes);
        moments.pop_back();
      } else {
        const Moment before{work.mark(), cover.mark(), now(), work.hash(), work.constant_bytes()};
        if (!change(work)) {
          cover.undo(before.cover);
          continue;
        }
        cover.update(work.changes(before.graph));
        moments.push_back(before);
        ++changes;
      }
      const Graph same = work.extract(arena);
      ASSERT_TRUE(ir::verify(arena, same));
      ASSERT_EQ(now(), *model.cost(same)) << "round " << round << ", step " << step;
      // So does everything else that is kept by difference.
      const WorkGraph fresh(arena, same);
      ASSERT_EQ(work.operations(), fresh.operations());
      ASSERT_GE(work.constant_bytes(), fresh.constant_bytes()) << "expressions of constants that are new count as they will be computed";
    }
  }
  EXPECT_GT(changes, 600);
}

TEST_F(FollowedGraphs, CostWhatACoverFromScratchCosts) {
  follow_changes();
  EXPECT_GT(device.attentions, 3) << "different ones";
}

// Parts of equal splits are read by operations that become equal, too, in any order.
TEST_F(FollowedGraphs, WithSplitsCostWhatACoverFromScratchCosts) {
  with_parts = true;
  for (const std::uint32_t seed : {1U, 2U, 7U}) {
    generator_.seed(seed);
    ASSERT_NO_FATAL_FAILURE(follow_changes()) << "seed " << seed;
  }
}

TEST_F(IncrementalCoverTest, AQueryThatIsTheTransposedKeyIsComputed) {
  const auto x = [&](std::uint32_t number) {  // square
    return arena.input(ir::TensorType{ir::DataType::float32, true, ir::polys(std::vector<std::int64_t>{1, 2, 6, 6})}, number);
  };
  const ir::Attributes perm{{"perm", ir::polys(std::vector<std::int64_t>{0, 1, 3, 2})}};
  const auto transposes = [&](ValueId query, ValueId key) {
    const ValueId scores = op(arena, "softmax", {op(arena, "matmul", {query, key})}, {{"axis", ir::Poly(3)}});
    const WorkGraph work(arena, Graph{{op(arena, "matmul", {scores, x(1)})}});
    KernelCosts costs(device, database);
    Regions regions(costs, [](ir::SymbolId) { return std::nullopt; });
    const IncrementalCover cover(work, regions);
    const std::vector<CoveredLaunch> launches = cover.launches();
    return std::ranges::count_if(launches, [](const CoveredLaunch& launch) { return launch.spec.is(ops::Op::Transpose); });
  };
  const ValueId key = op(arena, "transpose", {x(0)}, perm);
  EXPECT_EQ(transposes(x(2), key), 0) << "part of attention";
  EXPECT_EQ(transposes(key, key), 1);
}

TEST_F(IncrementalCoverTest, ViewsComeAndGoWithTheLayoutsOfTheirOperands) {
  with_parts = true;
  int changes = 0;
  int views = 0;  // in all covers
  for (int round = 0; round < 40; ++round) {
    WorkGraph work(arena, random_graph(10 + static_cast<std::size_t>(round)));
    KernelCosts costs(device, database);
    Regions regions(costs, [](ir::SymbolId) { return std::nullopt; });
    IncrementalCover cover(work, regions);
    for (int step = 0; step < 20; ++step) {
      const auto graph = work.mark();
      const std::size_t mark = cover.mark();
      const Ticks before = cover.time();
      if (!change(work)) {
        cover.undo(mark);
        continue;
      }
      ++changes;
      cover.update(work.changes(graph));
      const IncrementalCover fresh(work, regions);
      ASSERT_EQ(cover.time(), fresh.time()) << "round " << round << ", step " << step;
      ASSERT_EQ(cover.kernels(), fresh.kernels());
      ASSERT_EQ(cover.refusals(), fresh.refusals());
      for (const CoveredLaunch& launch : cover.launches()) views += launch.spec.is(ops::KernelFamily::none) && view_offsets(launch.spec);
      if (random() % 3 != 0) continue;
      work.undo(graph);
      cover.undo(mark);
      ASSERT_EQ(cover.time(), before);
    }
  }
  EXPECT_GT(changes, 300);
  EXPECT_GT(views, 100);
}

TEST_F(IncrementalCoverTest, UndoingFreesTheNodesThatWereMade) {
  WorkGraph work(arena, random_graph(30));
  const std::size_t nodes = work.arena().size();
  const auto mark = work.mark();
  for (int k = 0; k < 50; ++k) change(work);
  EXPECT_GT(work.arena().size(), nodes);
  work.undo(mark);
  EXPECT_EQ(work.arena().size(), nodes);
}

TEST_F(IncrementalCoverTest, OperationsThatBecomeEqualAreMerged) {
  const ValueId x = arena.input(ir::TensorType{ir::DataType::float32, true, ir::polys(std::vector<std::int64_t>{4})}, 0);
  const ValueId a = op(arena, "exp", {op(arena, "identity", {x})});
  const ValueId b = op(arena, "exp", {x});
  WorkGraph work(arena, Graph{{op(arena, "add", {op(arena, "relu", {a}), op(arena, "relu", {b})})}});
  EXPECT_EQ(work.operations(), 6U);
  const auto mark = work.mark();
  const NodeId identity = *work.copy_of(arena.node(a).operands[0].node);
  ASSERT_TRUE(work.replace(std::vector<Replacement>{{{identity, 0}, work.arena().node(identity).operands[0]}}, mark));
  EXPECT_EQ(work.operations(), 3U);  // exp, relu, add
  EXPECT_EQ(work.extract(arena), (Graph{{op(arena, "add", {op(arena, "relu", {b}), op(arena, "relu", {b})})}}));
}

TEST_F(IncrementalCoverTest, TheOrderOfRewritesDoesNotShowInTheHash) {
  const ValueId x = arena.input(ir::TensorType{ir::DataType::float32, true, ir::polys(std::vector<std::int64_t>{4})}, 0);
  const ValueId a = op(arena, "exp", {x});
  const ValueId b = op(arena, "sqrt", {a});
  WorkGraph work(arena, Graph{{op(arena, "tanh", {b})}});
  const NodeId first = *work.copy_of(a.node);
  const NodeId second = *work.copy_of(b.node);
  const auto replace_first = [&] {
    const auto mark = work.mark();
    return work.replace(std::vector<Replacement>{{{first, 0}, op(work.arena(), "abs", {work.arena().node(first).operands[0]})}}, mark);
  };
  const auto replace_second = [&] {
    const auto mark = work.mark();
    return work.replace(std::vector<Replacement>{{{second, 0}, op(work.arena(), "relu", {work.arena().node(second).operands[0]})}}, mark);
  };
  const auto mark = work.mark();
  const std::uint64_t original = work.hash();
  ASSERT_TRUE(replace_first() && replace_second());
  const std::uint64_t one_way = work.hash();
  work.undo(mark);
  EXPECT_EQ(work.hash(), original);
  ASSERT_TRUE(replace_second() && replace_first());
  EXPECT_EQ(work.hash(), one_way);
  EXPECT_NE(one_way, original);
}

}  // namespace
}  // namespace xflow::cost
