// What is shipped without a runner was run on the device, and was faster.
#include "src/validation/device_gate.h"

#include <gtest/gtest.h>

#include "src/cost/database.h"
#include "src/devices/cpu/cpu_device.h"
#include "src/devices/gpu/gpu_device.h"
#include "src/ops/operator.h"
#include "src/validation/end_to_end.h"
#include "tests/devices/host_gpu.h"

namespace xflow::api {
namespace {

using ir::Poly;
using ir::ValueId;

class DeviceGateTest : public ::testing::Test {
 protected:
  DeviceGateTest() {
    costs_.cpu = cost::cpu::open_cpu_device().value();
    costs_.database = std::make_unique<cost::Database>(cost::Database::open("", costs_.cpu->info()));
  }

  ValueId input(const std::string& name, std::vector<Poly> shape, ir::DataType type = ir::DataType::float32) {
    const ValueId value = arena.input(ir::TensorType{type, true, std::move(shape)}, static_cast<std::uint32_t>(names_.size()));
    names_.push_back(std::make_unique<std::string>(name));
    inputs_.push_back({*names_.back(), value});
    return value;
  }
  Poly open(const std::string& name) { return Poly(arena.symbols().named(ir::SymbolKind::dimension, name)); }
  ValueId op(const std::string& name, std::vector<ValueId> operands, ir::Attributes attributes = {}) {
    auto value = ops::apply(arena, name, std::move(operands), std::move(attributes));
    EXPECT_TRUE(value) << value.error().text();
    return *value;
  }
  // Moves the elements twice, to where they were.
  ValueId turned_twice(ValueId x) {
    const ir::Attributes swap = {{"perm", ir::polys(std::vector<std::int64_t>{1, 0})}};
    return op("transpose", {op("transpose", {x}, swap)}, swap);
  }

  std::string judge(const ir::Graph& original, const ir::Graph& candidate) {
    const std::vector<std::string> names{"y", "z"};
    const std::span<const std::string> outputs(names.begin(), named_outputs_);
    report_ = {};
    return judge_on_device({arena, original, inputs_, defaults_, outputs, runs_, options_, costs_, limits_}, candidate, {}, report_)
        .acceptance.reason;
  }
  // A GPU that is this CPU, in the place of it.
  void use_gpu(bool computes = true) {
    auto gpu = std::make_unique<xflow::testing::HostGpu>();
    gpu->computes = computes;
    costs_.cpu.reset();
    costs_.gpu = std::make_unique<cost::gpu::GpuDevice>(*gpu);
    costs_.opened_gpu = std::move(gpu);
    costs_.database = std::make_unique<cost::Database>(cost::Database::open("", costs_.gpu->info()));
  }
  const GateReport& gate_report() const { return report_.gate; }

  ir::Arena arena;
  RunInputs runs_;
  RunLimits limits_;
  OptimizeOptions options_;
  OptimizeReport report_;
  eval::Bindings defaults_;
  std::size_t named_outputs_ = 1;

 private:
  std::vector<std::unique_ptr<std::string>> names_;
  std::vector<NamedInput> inputs_;
  DeviceCosts costs_;
};

TEST_F(DeviceGateTest, LetsPassWhatIsFaster) {
  const ValueId x = input("x", {256, 512});
  EXPECT_EQ(judge({{op("relu", {turned_twice(x)})}}, {{op("relu", {x})}}), "");
  EXPECT_TRUE(gate_report().run);
  EXPECT_EQ(gate_report().reason, "");
  EXPECT_EQ(gate_report().clock, Clock::thread_cpu_time);
  EXPECT_NE(gate_report().device.find("oneDNN"), std::string::npos) << gate_report().device;
  EXPECT_EQ(gate_report().share_not_run, 0);
  ASSERT_EQ(gate_report().comparisons.size(), 1U);
  const auto& comparison = gate_report().comparisons[0];
  EXPECT_EQ(comparison.sizes, "the declared sizes");
  EXPECT_EQ(comparison.verdict, GateVerdict::faster);
  EXPECT_GE(comparison.pairs, 15U);
  EXPECT_LT(comparison.ratio, 1);
  EXPECT_LT(comparison.result, comparison.original);
}

TEST_F(DeviceGateTest, RunsOnAGpuWhatWasTimedThere) {
  use_gpu();
  const ValueId x = input("x", {8, 16});
  const ValueId once = op("relu", {x});
  EXPECT_EQ(judge({{op("relu", {turned_twice(x)})}}, {{once}}), "");
  EXPECT_EQ(gate_report().clock, Clock::device_time);
  EXPECT_EQ(gate_report().device, "host 1, this CPU, 1 thread");
  EXPECT_EQ(gate_report().comparisons[0].verdict, GateVerdict::faster);
  EXPECT_NEAR(gate_report().comparisons[0].original.count(), 3000, 1e-6) << "each kernel of this GPU says that it takes a microsecond";
  EXPECT_NEAR(gate_report().comparisons[0].result.count(), 1000, 1e-6);
  const std::string against = judge({{once}}, {{op("sigmoid", {x})}});
  EXPECT_EQ(against.rfind("its outputs differ from the original's: output 'y' ", 0), 0U) << against;
}

TEST_F(DeviceGateTest, KeepsBackWhatIsFasterByLittle) {
  use_gpu(false);
  const ValueId x = input("x", {8, 8});
  const ValueId weights = arena.constant(ir::make_constant(ir::DataType::float32, {8, 8}, std::vector<double>(64, 0.1)).value());
  std::vector<ValueId> products = {x};  // by how many there are
  while (products.size() <= 50) products.push_back(op("matmul", {products.back(), weights}));
  EXPECT_EQ(judge({{products[20]}}, {{products[19]}}), "") << "5 %";
  EXPECT_EQ(gate_report().reason, "");
  const std::string against = judge({{products[50]}}, {{products[49]}});
  EXPECT_EQ(against,
            "it is faster here by less than 4 % (0.980 of the original's time), and may be slower in another runtime; option 'runner' "
            "measures it there");
  EXPECT_EQ(gate_report().reason, against);
  EXPECT_TRUE(gate_report().run);
  EXPECT_EQ(gate_report().comparisons[0].verdict, GateVerdict::faster);
}

TEST_F(DeviceGateTest, KeepsBackWhatIsSlower) {
  const ValueId x = input("x", {256, 512});
  const std::string against = judge({{op("relu", {x})}}, {{op("relu", {turned_twice(x)})}});
  EXPECT_EQ(against.rfind("it is slower: ", 0), 0U) << against;
  EXPECT_EQ(gate_report().comparisons[0].verdict, GateVerdict::slower);
}

TEST_F(DeviceGateTest, KeepsBackWhatIsRunByTheSameKernels) {
  const ValueId x = input("x", {64, 64});
  const ValueId seen = op("reshape", {x}, {{"shape", ir::polys(std::vector<std::int64_t>{4096})}});
  const ValueId back = op("reshape", {seen}, {{"shape", ir::polys(std::vector<std::int64_t>{64, 64})}});
  const std::string against = judge({{op("relu", {op("tanh", {back})})}}, {{op("relu", {op("tanh", {x})})}});
  // One kernel, unless both operators were timed in a noisy moment.
  EXPECT_TRUE(against == "it is run like the original, by the same 1 kernel" ||
              against == "it is run like the original, by the same 2 kernels")
      << against;
  EXPECT_FALSE(gate_report().run);
  EXPECT_EQ(gate_report().reason, against);
}

TEST_F(DeviceGateTest, KeepsBackWhatIsSlowerAtOneOfSeveralChoicesOfSizes) {
  const ValueId x = input("x", {open("N"), 512});
  const ValueId z = input("z", {open("M"), 512});
  const ir::Graph original{{op("relu", {turned_twice(x)}), op("exp", {z})}};
  const ir::Graph candidate{{op("relu", {x}), op("exp", {turned_twice(z)})}};
  named_outputs_ = 2;
  runs_.shapes = {{{"x", {256, 512}}, {"z", {1, 512}}}};
  EXPECT_EQ(judge(original, candidate), "");
  runs_.shapes.push_back({{"x", {1, 512}}, {"z", {256, 512}}});
  const std::string against = judge(original, candidate);
  EXPECT_EQ(against.rfind("it is slower at x: [1, 512], z: [256, 512]: ", 0), 0U) << against;
  ASSERT_EQ(gate_report().comparisons.size(), 2U);
  EXPECT_EQ(gate_report().comparisons[0].verdict, GateVerdict::faster);
  EXPECT_EQ(gate_report().comparisons[0].sizes, "x: [256, 512], z: [1, 512]");
  EXPECT_EQ(gate_report().comparisons[1].verdict, GateVerdict::slower);
}

TEST_F(DeviceGateTest, KeepsBackWhatComputesSomethingElse) {
  const ValueId x = input("x", {256, 512});
  const std::string against = judge({{op("relu", {turned_twice(x)})}}, {{op("abs", {x})}});
  EXPECT_EQ(against.rfind("its outputs differ from the original's: output 'y' is ", 0), 0U) << against;
  EXPECT_FALSE(gate_report().run);
}

TEST_F(DeviceGateTest, LetsPassWhatDiffersAsTheOriginalDoesByRounding) {
  const ValueId x = input("x", {1024, 2048});
  // What 1e6 has no digits for is lost: steps of 1/16 where values are below 1.
  const ValueId million = arena.constant(ir::make_constant(ir::DataType::float32, {}, std::vector<double>{1e6}).value());
  const auto rounded = [&](ValueId v) { return op("sub", {op("add", {v, million}), million}); };
  EXPECT_EQ(judge({{op("relu", {rounded(turned_twice(x))})}}, {{op("relu", {x})}}), "");
  // No rounding explains this one.
  const ValueId half = arena.constant(ir::make_constant(ir::DataType::float32, {}, std::vector<double>{0.5}).value());
  const std::string against = judge({{op("relu", {rounded(turned_twice(x))})}}, {{op("relu", {op("add", {x, half})})}});
  EXPECT_EQ(against.rfind("its outputs differ from the original's: output 'y' is ", 0), 0U) << against;
  EXPECT_NE(against.find("allowed 0.26"), std::string::npos) << against;
}

TEST_F(DeviceGateTest, RunsWhatLiesBetweenOpaqueNodesAndSaysHowMuchThatIsNot) {
  const ValueId x = input("x", {256, 512});
  const auto around = [&](ValueId into, std::uint32_t serial) {
    const ir::NodeId opaque = arena.opaque(serial, {op("tanh", {into})}, {arena.type(x)});
    return op("relu", {ValueId{opaque, 0}});
  };
  EXPECT_EQ(judge({{around(turned_twice(x), 1)}}, {{around(x, 1)}}), "");
  EXPECT_TRUE(gate_report().run);
  EXPECT_DOUBLE_EQ(gate_report().share_not_run, 1.0 / 3);  // of the candidate, which has less beside it
}

TEST_F(DeviceGateTest, KeepsBackWhatCannotBeRunAtAll) {
  const ValueId x = input("x", {4, 4});
  const auto opaque = [&](std::uint32_t serial) { return ValueId{arena.opaque(serial, {x}, {arena.type(x)}), 0}; };
  EXPECT_EQ(judge({{opaque(1)}}, {{opaque(2)}}), "no part of it can run here");
}

TEST_F(DeviceGateTest, GivesInputsTheirDefaults) {
  const ValueId x = input("x", {256, 512});
  const ValueId three = input("three", {});
  const ValueId constant = arena.constant(ir::make_constant(ir::DataType::float32, {}, std::vector<double>{3}).value());
  const ir::Graph original{{op("mul", {op("relu", {turned_twice(x)}), three})}};
  const ir::Graph candidate{{op("mul", {op("relu", {x}), constant})}};
  EXPECT_EQ(judge(original, candidate).rfind("its outputs differ from the original's", 0), 0U);
  defaults_.emplace(three, eval::Tensor::of_doubles(ir::DataType::float32, {}, {3.0}));
  EXPECT_EQ(judge(original, candidate), "");
}

TEST_F(DeviceGateTest, RunsTheInputsThatAreGiven) {
  const ValueId x = input("x", {256, 512});
  const ValueId three = input("three", {});
  const auto set = [](double value, double factor) {
    InputSet set{"a.npz, set " + std::to_string(static_cast<int>(factor)), {}};
    set.tensors.emplace("x", eval::Tensor::of_doubles(ir::DataType::float32, {256, 512}, std::vector<double>(256 * 512, value)));
    set.tensors.emplace("three", eval::Tensor::of_doubles(ir::DataType::float32, {}, {factor}));
    return set;
  };
  // Equal where x is positive.
  const ir::Graph original{{op("mul", {op("relu", {turned_twice(x)}), three})}};
  const ir::Graph candidate{{op("mul", {op("abs", {x}), three})}};
  defaults_.emplace(three, eval::Tensor::of_doubles(ir::DataType::float32, {}, {1.0}));
  runs_.shapes = {{}, {}};
  runs_.sets = {set(0.5, 1), set(2, 2)};
  EXPECT_EQ(judge(original, candidate), "");
  ASSERT_EQ(gate_report().comparisons.size(), 2U);
  EXPECT_EQ(gate_report().comparisons[1].sizes, "the declared sizes of a.npz, set 2");
  runs_.sets[1] = set(-2, 3);
  const std::string against = judge(original, candidate);
  EXPECT_EQ(against,
            "its outputs differ from the original's: output 'y' is 6 instead of 0 at [0,0] (error 6, allowed 0) at the declared sizes of "
            "a.npz, set 3");
}

TEST_F(DeviceGateTest, SpendsNoMoreThanItsBudget) {
  const ValueId x = input("x", {256, 512});
  options_.validation.max_measure_time = Seconds(0);
  EXPECT_EQ(judge({{op("relu", {turned_twice(x)})}}, {{op("relu", {x})}}), "the budget of 0 s was used up after 0 of 15 pairs");
}

TEST(EndToEnd, SaysWhatDeclaringShapesGained) {
  GateReport trial;
  trial.time = Seconds(3);
  const auto add = [&](std::uint64_t pairs, double ratio, double low, double high) {
    GateComparison& comparison = trial.comparisons.emplace_back();
    comparison.pairs = pairs;
    comparison.ratio = ratio;
    comparison.low = low;
    comparison.high = high;
  };
  add(15, 0.942, 0.93, 0.95);
  add(31, 1, 0.99, 1.01);
  GateReport report;
  list_declared(trial, 214, accepted(), report);
  EXPECT_EQ(report.declared,
            "214, 0.942 of the time without [0.930, 0.950] in 15 pairs, 1.000 of the time without [0.990, 1.010] in 31 pairs");
  EXPECT_EQ(report.time, Seconds(3));
  EXPECT_TRUE(report.others.empty());
  report.declared.clear();
  list_declared(trial, 214, refused("it is not faster: ..."), report);
  EXPECT_EQ(report.declared, "");
  EXPECT_EQ(report.others,
            std::vector<std::string>{"with the shapes of 214 values declared, compared with the result without: it is not faster: ..."});
}

}  // namespace
}  // namespace xflow::api
