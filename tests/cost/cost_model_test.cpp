// Covers of small graphs on a device whose costs are written in a table.
#include "src/cost/cost_model.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "src/cost/incremental_cost.h"
#include "src/ops/kernel_text.h"
#include "src/ops/op.h"
#include "src/ops/operator.h"

namespace xflow::cost {
namespace {

using ir::Attributes;
using ir::DataType;
using ir::Graph;
using ir::Poly;
using ir::TensorType;
using ir::ValueId;

// A device without clock: a kernel costs what `price` says. Convolutions work in channels_last, pointwise and pooling in both layouts.
class TableDevice final : public Device {
 public:
  TableDevice() { info_.name = "table"; }
  const DeviceInfo& info() const override { return info_; }
  bool chooses_layout(const ops::KernelSpec& spec) const override { return spec.is(ops::Op::Conv); }
  bool works_in(const ops::KernelSpec& spec, Layout layout) const override {
    return layout == Layout::plain || (layout == Layout::channels_last && (is_pointwise(spec) || spec.is(ops::Op::MaxPool)));
  }
  bool can_fuse(const ops::KernelSpec& base, const ops::PostOperation& post) const override {
    if (fusion && !fusion(ops::step_name(post))) return false;
    return base.is(ops::Op::Conv) || base.is(ops::Op::Matmul) || is_pointwise(base);
  }
  Result<KernelCost> measure(const ops::KernelSpec& spec, Layout layout) override {
    ++measured;
    const double cost = price(spec);
    if (cost < 0) return fail(ErrorCode::unsupported, fmt::format("cannot run {} here", ops::kernel_name(spec)));
    KernelCost result{Nanoseconds(cost * (1 + slowdown)), Nanoseconds(0), 1, layout, layout, slowdown};
    if (layout == Layout::any) result.operands = result.results = Layout::channels_last;
    return result;
  }

  bool reads_function_graphs() const override { return reads_graphs; }
  double interference() override { return slowdown; }
  Nanoseconds fastest_calibration() const override { return calibration; }
  void know_fastest_calibration(Nanoseconds time) override {
    if (time.count() > 0) calibration = std::min(calibration, time);
  }

  // 100 a convolution or product, 10 for anything else, and 1 for each post-operation; reorders cost 7.
  static double usual(const ops::KernelSpec& spec) {
    const auto post = static_cast<double>(spec.post.size());
    if (spec.is(ops::Op::Conv) || spec.is(ops::Op::Matmul)) return 100 + post;
    if (spec.is(ops::KernelFamily::reorder)) return 7;
    return 10 + post;
  }

  std::function<double(const ops::KernelSpec&)> price = usual;
  std::function<bool(const std::string&)> fusion;
  bool reads_graphs = false;
  int measured = 0;
  double slowdown = 0;
  Nanoseconds calibration{};

 private:
  DeviceInfo info_;
};

class CoverTest : public ::testing::Test {
 protected:
  ValueId input(std::vector<std::int64_t> dims) { return arena.input(TensorType{DataType::float32, true, ir::polys(dims)}, next_++); }
  ValueId constant(std::vector<std::int64_t> dims, double first = 0.5) {
    std::int64_t n = 1;
    for (const std::int64_t d : dims) n *= d;
    std::vector<double> values(static_cast<std::size_t>(n));
    for (std::size_t k = 0; k < values.size(); ++k) values[k] = first + static_cast<double>(k) / 64;
    return arena.constant(ir::make_constant(DataType::float32, std::move(dims), values).value());
  }
  ValueId scalar(double value) { return constant({}, value); }
  ValueId op(const std::string& name, std::vector<ValueId> operands, Attributes attributes = {}) {
    auto value = ops::apply(arena, name, std::move(operands), std::move(attributes));
    EXPECT_TRUE(value) << value.error().text();
    return *value;
  }
  // A 3x3 convolution that keeps the size, of a tensor with 8 channels.
  ValueId convolution(ValueId x) {
    Attributes attributes;
    attributes.set("strides", ir::polys(std::vector<std::int64_t>{1, 1}));
    attributes.set("pads", ir::polys(std::vector<std::int64_t>{1, 1, 1, 1}));
    attributes.set("dilations", ir::polys(std::vector<std::int64_t>{1, 1}));
    attributes.set("groups", Poly(1));
    return op("conv", {x, constant({8, 8, 3, 3}, weight_ += 1)}, attributes);
  }
  ValueId bias(ValueId x) { return op("add", {x, constant({1, 8, 1, 1})}); }

  Cost cost(const Graph& graph) {
    const auto result = model().cost(graph);
    EXPECT_TRUE(result) << result.error().text();
    return *result;
  }
  // The kernels of the cover, without operands: "convolution|add|relu".
  std::vector<std::string> kernels(const Graph& graph) {
    std::vector<std::string> names;
    const auto regions = model().explain(graph);
    EXPECT_TRUE(regions) << regions.error().text();
    for (const CoveredRegion& region : *regions) {
      std::string name = region.kernel.substr(0, region.kernel.find('('));
      for (std::size_t bar = region.kernel.find(" | "); bar != std::string::npos; bar = region.kernel.find(" | ", bar + 1)) {
        name += "|" + region.kernel.substr(bar + 3, region.kernel.find_first_of(" ({", bar + 3) - bar - 3);
      }
      names.push_back(std::move(name));
    }
    return names;
  }
  CostModel& model() {
    if (!model_) {
      database_.emplace(Database::open("", device.info()));
      model_.emplace(arena, device, *database_, [this](ir::SymbolId s) { return sizes ? sizes(s) : std::nullopt; });
    }
    return *model_;
  }

  using Names = std::vector<std::string>;
  ir::Arena arena;
  TableDevice device;
  std::function<std::optional<std::int64_t>(ir::SymbolId)> sizes;

 private:
  std::uint32_t next_ = 0;
  double weight_ = 0;
  std::optional<Database> database_;
  std::optional<CostModel> model_;
};

TEST_F(CoverTest, ConstantsCostNothing) {
  const ValueId folded = op("mul", {constant({8, 8}), scalar(2)});
  EXPECT_EQ(cost(Graph{{folded}}), Cost{});
  EXPECT_EQ(device.measured, 0);
  const ValueId x = input({4, 8});
  EXPECT_EQ(cost(Graph{{op("matmul", {x, folded})}}).time.count(), 100);
}

TEST_F(CoverTest, FusesBiasResidualAndActivationIntoAConvolution) {
  const ValueId x = input({1, 8, 6, 6});
  const ValueId y = op("relu", {op("add", {bias(convolution(x)), x})});
  EXPECT_EQ(kernels(Graph{{y}}), (Names{"reorder:plain>channels_last", "convolution|add|add|relu", "reorder:channels_last>plain"}));
  EXPECT_EQ(cost(Graph{{y}}).time.count(), 7 + 103 + 7);
}

// A kernel adds one value that is no constant: the second sum goes with the third convolution, not with the first one.
TEST_F(CoverTest, EachConvolutionOfASumAddsOneOther) {
  const ValueId x = input({1, 8, 6, 6});
  const ValueId sum = op("add", {op("add", {convolution(x), bias(convolution(op("exp", {x})))}), convolution(op("tanh", {x}))});
  Names found = kernels(Graph{{op("relu", {sum})}});
  std::erase_if(found, [](const std::string& name) { return !name.starts_with("convolution"); });
  std::ranges::sort(found);
  EXPECT_EQ(found, (Names{"convolution|add", "convolution|add", "convolution|add|relu"}));
}

TEST_F(CoverTest, FusesOnlyWhereThatIsFaster) {
  device.price = [](const ops::KernelSpec& spec) {
    return TableDevice::usual(spec) + (spec.is(ops::Op::Conv) ? 50.0 * static_cast<double>(spec.post.size()) : 0);
  };
  const ValueId y = op("relu", {bias(convolution(input({1, 8, 6, 6})))});
  EXPECT_EQ(kernels(Graph{{y}}),
            (Names{"reorder:plain>channels_last", "convolution", "pointwise/add|relu", "reorder:channels_last>plain"}));
}

TEST_F(CoverTest, FusesTheBiasAloneWhereTheRestIsSlower) {
  device.price = [](const ops::KernelSpec& spec) {
    return TableDevice::usual(spec) + (spec.is(ops::Op::Conv) && spec.post.size() > 1 ? 1000 : 0);
  };
  const ValueId y = op("tanh", {op("exp", {bias(convolution(input({1, 8, 6, 6})))})});
  EXPECT_EQ(kernels(Graph{{y}}),
            (Names{"reorder:plain>channels_last", "convolution|add", "pointwise/exp|tanh", "reorder:channels_last>plain"}));
}

TEST_F(CoverTest, DoesNotFuseWhatTheDeviceCannot) {
  device.fusion = [](const std::string& name) { return name != "erf"; };
  const ValueId y = op("relu", {op("erf", {bias(convolution(input({1, 8, 6, 6})))})});
  EXPECT_EQ(kernels(Graph{{y}}),
            (Names{"reorder:plain>channels_last", "convolution|add", "pointwise/erf|relu", "reorder:channels_last>plain"}));
}

TEST_F(CoverTest, DoesNotFuseAcrossAValueThatIsUsedTwice) {
  const ValueId biased = bias(convolution(input({1, 8, 6, 6})));
  // The bias is fused; its value is needed by both others.
  EXPECT_EQ(kernels(Graph{{op("mul", {op("exp", {biased}), op("abs", {biased})})}}),
            (Names{"reorder:plain>channels_last", "convolution|add", "pointwise/abs", "pointwise/exp|mul", "reorder:channels_last>plain"}));
  EXPECT_EQ(kernels(Graph{{op("relu", {biased}), biased}}), (Names{"reorder:plain>channels_last", "convolution|add", "pointwise/relu",
                                                                   "reorder:channels_last>plain", "reorder:channels_last>plain"}));
}

TEST_F(CoverTest, RunsPointwiseChainsAsOneKernel) {
  const ValueId x = input({4, 8});
  const ValueId y =
      op("div", {op("mul", {x, op("clip", {op("add", {x, scalar(3)})}, {{"min", ir::Real(0)}, {"max", ir::Real(6)}})}), scalar(6)});
  EXPECT_EQ(kernels(Graph{{y}}), (Names{"pointwise/add|clip|mul|div"}));
  EXPECT_EQ(cost(Graph{{y}}).time.count(), 13);
}

TEST_F(CoverTest, SumsInEveryOrderAreOneMeasurement) {
  const ValueId x = input({4, 8});
  const ValueId y = input({4, 8});
  const ValueId c = constant({8});
  for (const ValueId sum : {op("add", {op("add", {op("exp", {x}), y}), c}), op("add", {op("add", {op("exp", {x}), c}), y}),
                            op("add", {c, op("add", {y, op("exp", {x})})})}) {
    EXPECT_EQ(cost(Graph{{sum}}).time.count(), 12);
  }
  cost(Graph{{op("add", {op("add", {x, y}), c})}});
  const int first = device.measured;
  cost(Graph{{op("add", {c, op("add", {y, x})})}});
  cost(Graph{{op("add", {y, op("add", {c, x})})}});
  EXPECT_EQ(device.measured, first);
}

TEST_F(CoverTest, NamesThePlaceOfTheRunningValue) {
  const ValueId x = input({4, 8});
  EXPECT_EQ(kernels(Graph{{op("sub", {scalar(1), op("exp", {x})})}}), (Names{"pointwise/exp|sub@1"}));
  EXPECT_EQ(kernels(Graph{{op("add", {scalar(1), op("exp", {x})})}}), (Names{"pointwise/exp|add"}));
}

TEST_F(CoverTest, KnowsPowersWithConstantExponents) {
  const ValueId x = input({4, 8});
  EXPECT_EQ(kernels(Graph{{op("pow", {x, scalar(2)})}}), (Names{"pointwise/square"}));
  EXPECT_EQ(kernels(Graph{{op("pow", {x, scalar(3)})}}), (Names{"pointwise/pow"}));
}

TEST_F(CoverTest, ConvolutionsKeepTheirLayoutAndBordersPayReorders) {
  const ValueId x = input({1, 8, 6, 6});
  // Two convolutions with a pointwise kernel of two uses between them: one reorder at each border.
  const ValueId a = convolution(x);
  const ValueId b = op("exp", {a});
  const ValueId y = op("add", {convolution(b), a});
  EXPECT_EQ(kernels(Graph{{y}}),
            (Names{"reorder:plain>channels_last", "convolution", "pointwise/exp", "convolution|add", "reorder:channels_last>plain"}));
  // A product between them works on plain tensors.
  const ValueId w = constant({6, 6});
  const ValueId z = convolution(op("matmul", {convolution(x), w}));
  EXPECT_EQ(kernels(Graph{{z}}), (Names{"reorder:plain>channels_last", "convolution", "reorder:channels_last>plain", "matmul",
                                        "reorder:plain>channels_last", "convolution", "reorder:channels_last>plain"}));
}

TEST_F(CoverTest, ConvertsAValueOnceForAllItsUsers) {
  const ValueId x = input({1, 8, 6, 6});
  const ValueId y = op("add", {convolution(x), convolution(x)});
  EXPECT_EQ(kernels(Graph{{y}}), (Names{"reorder:plain>channels_last", "convolution", "convolution|add", "reorder:channels_last>plain"}));
}

TEST_F(CoverTest, MovementIsNotFree) {
  const ValueId x = input({4, 8});
  const ValueId t = op("transpose", {x}, {{"perm", ir::polys(std::vector<std::int64_t>{1, 0})}});
  EXPECT_EQ(kernels(Graph{{t}}), (Names{"copy:transpose"}));
  EXPECT_EQ(cost(Graph{{t}}).time.count(), 10);
  EXPECT_EQ(cost(Graph{{op("concat", {x, x}, {{"axis", Poly(0)}})}}).time.count(), 10);
}

TEST_F(CoverTest, ReshapeIsFreeUnlessItMustMove) {
  const ValueId x = input({1, 8, 6, 6});
  const auto flat = [&](ValueId v) { return op("reshape", {v}, {{"shape", ir::polys(std::vector<std::int64_t>{8, 36})}}); };
  EXPECT_EQ(cost(Graph{{flat(x)}}).time.count(), 0);
  EXPECT_EQ(kernels(Graph{{flat(convolution(x))}}), (Names{"reorder:plain>channels_last", "convolution", "reorder:channels_last>plain"}));
}

// Composites. -------------------------------------------------------------------------------------------------------------------------

TEST_F(CoverTest, HardSwishIsOneKernelWhereTheGraphNamesHardSigmoid) {
  const ValueId x = bias(convolution(input({1, 8, 6, 6})));
  const Attributes sixth = {{"alpha", ir::Real(ir::Rational::make(1, 6).value())}, {"beta", ir::Real(ir::Rational::make(1, 2).value())}};
  EXPECT_EQ(kernels(Graph{{op("mul", {x, op("hard_sigmoid", {x}, sixth)})}}),
            (Names{"reorder:plain>channels_last", "convolution|add|hard_swish", "reorder:channels_last>plain"}));
  // Another slope is another function.
  EXPECT_EQ(kernels(Graph{{op("mul", {x, op("hard_sigmoid", {x})})}}),
            (Names{"reorder:plain>channels_last", "convolution|add", "pointwise/hard_sigmoid|mul", "reorder:channels_last>plain"}));
  // No runtime finds it in four operators.
  const ValueId clipped = op("clip", {op("add", {x, scalar(3)})}, {{"min", ir::Real(0)}, {"max", ir::Real(6)}});
  EXPECT_EQ(kernels(Graph{{op("div", {op("mul", {x, clipped}), scalar(6)})}}),
            (Names{"reorder:plain>channels_last", "convolution|add", "pointwise/add|clip|mul|div", "reorder:channels_last>plain"}));
}

TEST_F(CoverTest, GeluIsOneKernelInAnyOrderOfItsFactors) {
  const ValueId x = op("matmul", {input({4, 8}), constant({8, 8})});
  const auto erf = [&] { return op("add", {op("erf", {op("mul", {x, scalar(std::sqrt(0.5))})}), scalar(1)}); };
  const ValueId first = op("mul", {op("mul", {x, scalar(0.5)}), erf()});
  const ValueId second = op("mul", {scalar(0.5), op("mul", {erf(), x})});
  const ValueId third = op("mul", {x, op("mul", {erf(), scalar(0.5)})});
  for (const ValueId y : {first, second, third}) EXPECT_EQ(kernels(Graph{{y}}), (Names{"matmul|gelu_erf"}));
  // Without its one half it is no gelu: what broke the pattern pays for the parts.
  const ValueId broken = op("mul", {x, erf()});
  EXPECT_EQ(kernels(Graph{{broken}}), (Names{"matmul", "pointwise/mul|erf|add|mul"}));
}

// A runtime that is given a model may find one of them alone.
TEST_F(CoverTest, GeluIsSeveralKernelsWhereItsGraphMatters) {
  device.reads_graphs = true;
  const ValueId x = input({4, 8});
  const ValueId erf = op("add", {op("erf", {op("div", {x, scalar(std::sqrt(2))})}), scalar(1)});
  EXPECT_EQ(kernels(Graph{{op("mul", {op("mul", {x, scalar(0.5)}), erf})}}),
            (Names{"pointwise/gelu_erf:x;0.5;mul;x;1.4142135;div;erf;1;add;mul"}));
  EXPECT_EQ(kernels(Graph{{op("mul", {x, op("mul", {erf, scalar(0.5)})})}}),
            (Names{"pointwise/gelu_erf:x;x;1.4142135;div;erf;1;add;0.5;mul;mul"}));
  // As a post-operation as well; what is used twice is written once.
  const ValueId y = op("matmul", {x, constant({8, 8})});
  const ValueId square = op("mul", {y, y});
  const ValueId inner = op("mul", {op("add", {y, op("mul", {op("mul", {square, y}), scalar(0.044715)})}), scalar(0.7978845608028654)});
  const ValueId tanh = op("mul", {op("mul", {y, scalar(0.5)}), op("add", {op("tanh", {inner}), scalar(1)})});
  EXPECT_EQ(kernels(Graph{{tanh}}), (Names{"matmul|gelu_tanh:x;0.5;mul;x;x;x;mul;x;mul;0.044715;mul;add;0.7978846;mul;tanh;1;add;mul"}));
}

TEST_F(CoverTest, ACompositeWhoseInsideIsUsedElsewhereIsNone) {
  const ValueId x = input({4, 8});
  const ValueId s = op("sigmoid", {x});
  EXPECT_EQ(kernels(Graph{{op("mul", {x, s})}}), (Names{"pointwise/swish"}));
  EXPECT_EQ(kernels(Graph{{op("mul", {x, s}), s}}), (Names{"pointwise/sigmoid", "pointwise/mul"}));
}

TEST_F(CoverTest, NormalisationsAreOneKernel) {
  const ValueId x = input({4, 6, 8});
  const Attributes last = {{"axes", ir::polys(std::vector<std::int64_t>{2})}, {"keep_dims", Poly(1)}};
  const auto mean = [&](ValueId v) { return op("reduce_mean", {v}, last); };
  const ValueId gamma = constant({8});
  const ValueId beta = constant({8}, 0.25);
  const ValueId centered = op("sub", {x, mean(x)});
  const ValueId deviation = op("sqrt", {op("add", {mean(op("mul", {centered, centered})), scalar(1e-5)})});
  const ValueId layer = op("add", {op("mul", {op("div", {centered, deviation}), gamma}), beta});
  EXPECT_EQ(kernels(Graph{{layer}}), (Names{"normalization:layer"}));

  const ValueId root = op("sqrt", {op("add", {mean(op("pow", {x, scalar(2)})), scalar(1e-6)})});
  EXPECT_EQ(kernels(Graph{{op("mul", {op("div", {x, root}), gamma})}}), (Names{"normalization:rms"}));
  EXPECT_EQ(kernels(Graph{{op("mul", {gamma, op("mul", {x, op("reciprocal", {root})})})}}), (Names{"normalization:rms"}));
  // Its parts are paid for where its scale went elsewhere.
  EXPECT_EQ(kernels(Graph{{op("div", {x, root})}}), (Names{"pointwise/square", "reduce:mean", "pointwise/add|sqrt", "pointwise/div"}));
  // A square root of another sum is something else.
  const ValueId other = op("sqrt", {op("add", {mean(op("abs", {x})), scalar(1e-6)})});
  EXPECT_EQ(kernels(Graph{{op("mul", {op("div", {x, other}), gamma})}}),
            (Names{"pointwise/abs", "reduce:mean", "pointwise/add|sqrt", "pointwise/div|mul"}));
}

// Sizes, refusals, determinism. --------------------------------------------------------------------------------------------------------

TEST_F(CoverTest, CostsGraphsAtTheSizesOfItsDimensions) {
  const ir::SymbolId n = arena.symbols().named(ir::SymbolKind::dimension, "N");
  const ValueId x = arena.input(TensorType{DataType::float32, true, {Poly(n), Poly(8)}}, 0);
  const Graph graph{{op("relu", {x})}};
  sizes = [n](ir::SymbolId s) { return s == n ? std::optional<std::int64_t>(5) : std::nullopt; };
  const auto regions = model().explain(graph);
  ASSERT_TRUE(regions) << regions.error().text();
  EXPECT_EQ((*regions)[0].kernel, "pointwise/relu(float32[5,8]) -> float32[5,8]");
}

TEST_F(CoverTest, NodesOfUnknownOrImpossibleSizeAreRefused) {
  const ir::SymbolId n = arena.symbols().named(ir::SymbolKind::dimension, "N");
  const ir::SymbolId m = arena.symbols().named(ir::SymbolKind::dimension, "M");
  const ValueId x = arena.input(TensorType{DataType::float32, true, {Poly(n)}}, 0);
  const ValueId y = arena.input(TensorType{DataType::float32, true, {Poly(m) - 3}}, 1);
  sizes = [m](ir::SymbolId s) { return s == m ? std::optional<std::int64_t>(2) : std::nullopt; };
  const Graph graph{{op("relu", {x}), op("exp", {y})}};
  EXPECT_EQ(cost(graph), (Cost{Nanoseconds(0), 2, 2}));
  EXPECT_EQ(kernels(graph),
            (Names{"relu: cannot cost a graph: N has no value at these sizes", "exp: cannot cost a graph: M - 3 is -1 at these sizes"}));
}

TEST_F(CoverTest, WhatTheDeviceCannotRunIsNeverFree) {
  device.price = [](const ops::KernelSpec& spec) { return spec.is(ops::Op::Erf) ? -1 : TableDevice::usual(spec); };
  const ValueId x = input({4, 8});
  const Graph one{{op("erf", {op("transpose", {x}, {{"perm", ir::polys(std::vector<std::int64_t>{1, 0})}})})}};
  const Graph two{{op("erf", {op("erf", {x})})}};
  EXPECT_EQ(cost(one), (Cost{Nanoseconds(10), 2, 1}));
  // A search may keep what the original has, and may not add to it.
  ir::WorkGraph work(arena, one);
  const auto live = model().follow(work);
  EXPECT_TRUE(live->comparable());
  EXPECT_EQ(nanoseconds(live->time()).count(), 10);
  const auto mark = work.mark();
  const ValueId output = work.outputs()[0];
  const ValueId more = ops::apply(work.arena(), "erf", {output}, {}).value();
  ASSERT_TRUE(work.replace(std::vector<ir::Replacement>{{output, more}}, mark));
  live->update(work.changes(mark));
  EXPECT_FALSE(live->comparable());
}

TEST_F(CoverTest, OpaqueNodesAreCountedAsUnmeasured) {
  const ValueId x = input({1, 8, 6, 6});
  const ir::NodeId opaque = arena.opaque(3, {convolution(x)}, {arena.type(x)});
  const Graph graph{{op("relu", {ValueId{opaque, 0}})}};
  EXPECT_EQ(cost(graph).unmeasured, 1U);
  EXPECT_EQ(kernels(graph), (Names{"reorder:plain>channels_last", "convolution", "reorder:channels_last>plain",
                                   "cannot run opaque node 3 here", "pointwise/relu"}));
}

TEST_F(CoverTest, IsDeterministicAndMeasuresEachKernelOnce) {
  ValueId x = input({1, 8, 6, 6});
  for (int k = 0; k < 20; ++k) x = op("relu", {op("add", {bias(convolution(x)), x})});
  const Graph graph{{x}};
  const Cost first = cost(graph);
  const int measured = device.measured;
  EXPECT_EQ(cost(graph), first);
  EXPECT_EQ(device.measured, measured);
  EXPECT_LT(measured, 20);  // all blocks have the same kernels

  // The same graph with new weights needs no new measurement, and another model agrees.
  ValueId y = input({1, 8, 6, 6});
  for (int k = 0; k < 20; ++k) y = op("relu", {op("add", {bias(convolution(y)), y})});
  EXPECT_EQ(cost(Graph{{y}}), first);
  EXPECT_EQ(device.measured, measured);
  Database database = Database::open("", device.info());
  CostModel other(arena, device, database, [](ir::SymbolId) { return std::nullopt; });
  EXPECT_EQ(*other.cost(graph), first);
}

TEST_F(CoverTest, CountsTheKernelsThatWereTimedUnderInterference) {
  const ValueId x = input({4, 8});
  const Graph first{{op("relu", {x})}};
  const Graph second{{op("exp", {x})}};
  device.slowdown = 0.05;
  cost(first);
  EXPECT_EQ(model().statistics().with_interference, 0U);
  device.slowdown = 0.2;
  cost(second);
  cost(second);
  EXPECT_EQ(model().statistics().measured, 2U);
  EXPECT_EQ(model().statistics().with_interference, 1U);
  EXPECT_EQ(model().statistics().provisional, 1U);
}

TEST_F(CoverTest, KernelsTimedUnderInterferenceAreTimedAgainWhenTheMachineIsCalmer) {
  const ValueId x = input({4, 8});
  const Graph graph{{op("relu", {x})}};
  const Graph calm{{op("exp", {x})}};
  cost(calm);
  device.slowdown = 0.5;
  EXPECT_EQ(cost(graph).time.count(), 15);
  model().allow_remeasuring(1e9);
  // As much interference as there was: nothing is gained.
  EXPECT_FALSE(model().remeasure({}));
  EXPECT_EQ(device.measured, 2);
  // Calmer, but not calm: better than nothing, and still provisional.
  device.slowdown = 0.2;
  EXPECT_TRUE(model().remeasure({}));
  EXPECT_EQ(device.measured, 3);
  model().forget();
  EXPECT_EQ(cost(graph).time.count(), 12);
  device.slowdown = 0.7;
  EXPECT_FALSE(model().remeasure({}));
  EXPECT_EQ(model().statistics().provisional, 1U);
  device.slowdown = 0;
  EXPECT_TRUE(model().remeasure({}));
  model().forget();
  EXPECT_EQ(cost(graph).time.count(), 10);
  EXPECT_FALSE(model().remeasure({}));  // once is enough
  EXPECT_EQ(device.measured, 4);
  EXPECT_EQ(model().statistics().measured, 2U);
  EXPECT_EQ(model().statistics().with_interference, 1U);
  EXPECT_EQ(model().statistics().timed_again, 1U);
  EXPECT_EQ(model().statistics().provisional, 0U);
}

TEST_F(CoverTest, WithoutTimeOnlyKernelsThatDecideAreTimedAgain) {
  const ValueId x = input({4, 8});
  const ValueId y = op("softmax", {x}, {{"axis", Poly(1)}});
  const Graph before{{op("relu", {y})}};
  const Graph after{{op("exp", {y})}};
  device.slowdown = 0.5;
  cost(before);
  cost(after);
  EXPECT_EQ(device.measured, 3);
  device.slowdown = 0;
  EXPECT_FALSE(model().remeasure({}));
  EXPECT_TRUE(model().remeasure(std::array{before, after}));
  EXPECT_EQ(device.measured, 5);  // what both have does not decide
  EXPECT_EQ(model().statistics().provisional, 1U);
}

TEST_F(CoverTest, AMachineThatIsNeverCalmDoesNotTimeAKernelForEver) {
  const Graph graph{{op("relu", {input({4, 8})})}};
  model().allow_remeasuring(1e9);
  device.slowdown = 9;
  cost(graph);
  for (int k = 0; k < 50; ++k) {
    device.slowdown *= 0.95;
    model().remeasure({});
  }
  EXPECT_GT(device.slowdown, kProvisional);
  EXPECT_EQ(device.measured, 8);
}

TEST_F(CoverTest, ALaterRunTimesAgainWhatOneUnderInterferenceLeft) {
  const Graph graph{{op("relu", {input({4, 8})})}};
  Database database = Database::open("", device.info());
  const auto none = [](ir::SymbolId) { return std::nullopt; };
  device.slowdown = 0.5;
  EXPECT_EQ(CostModel(arena, device, database, none).cost(graph)->time.count(), 15);
  CostModel still(arena, device, database, none);
  still.allow_remeasuring(1);
  EXPECT_EQ(still.cost(graph)->time.count(), 15);
  EXPECT_EQ(device.measured, 1);
  device.slowdown = 0;
  CostModel calm(arena, device, database, none);
  calm.allow_remeasuring(1);
  EXPECT_EQ(calm.cost(graph)->time.count(), 10);
  EXPECT_EQ(calm.statistics().timed_again, 1U);
  EXPECT_EQ(calm.statistics().provisional, 0U);
  CostModel last(arena, device, database, none);
  last.allow_remeasuring(1);
  EXPECT_EQ(last.cost(graph)->time.count(), 10);
  EXPECT_EQ(last.statistics().with_interference, 0U);
  EXPECT_EQ(device.measured, 2);
}

TEST_F(CoverTest, WhatTheMachineWasAtItsBestIsKeptBetweenRuns) {
  Database database = Database::open("", device.info());
  const auto none = [](ir::SymbolId) { return std::nullopt; };
  device.calibration = Nanoseconds(10);
  CostModel(arena, device, database, none).cost(Graph{{op("relu", {input({4, 8})})}}).value();
  TableDevice later;
  later.calibration = Nanoseconds(14);
  const CostModel model(arena, later, database, none);
  EXPECT_EQ(later.calibration.count(), 10);
}

TEST_F(CoverTest, AskedOutOfOrderGivesTheSameCosts) {
  const ValueId x = input({1, 8, 6, 6});
  const Graph a{{op("relu", {bias(convolution(x))})}};
  const Graph b{{op("tanh", {a.outputs[0]}), bias(a.outputs[0])}};
  const Cost first_a = cost(a);
  const Cost first_b = cost(b);
  Database database = Database::open("", device.info());
  CostModel other(arena, device, database, [](ir::SymbolId) { return std::nullopt; });
  EXPECT_EQ(*other.cost(b), first_b);
  EXPECT_EQ(*other.cost(a), first_a);
}

}  // namespace
}  // namespace xflow::cost
