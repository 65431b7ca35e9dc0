// Graphs run from end to end on this CPU, compared with the reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "src/devices/cpu/cpu_executor.h"
#include "src/devices/cpu/program.h"
#include "src/ops/operator.h"
#include "tests/devices/allocations.h"
#include "tests/devices/expect_computes.h"
#include "tests/kernels/graph_test.h"

namespace xflow::cost::cpu {
namespace {

using ir::Attributes;
using ir::DataType;
using ir::Poly;
using ir::ValueId;
using xflow::testing::graphs::Dims;
using xflow::testing::graphs::elements;
using xflow::testing::graphs::list;

class ProgramTest : public xflow::testing::graphs::GraphTest {
 protected:
  std::optional<Program> build(const ir::Graph& graph, const ProgramOptions& options = {}) {
    if (device_ == nullptr) device_ = open_cpu_device().value();
    database_ = Database::open("", device_->info());
    costs_.emplace(arena, *device_, *database_, sizes_);
    auto program = Program::build(*device_, arena, graph, *costs_, sizes_, options);
    EXPECT_TRUE(program) << program.error().text();
    if (!program) return std::nullopt;
    for (const auto& [value, tensor] : bindings_) EXPECT_TRUE(program->write(value, tensor));
    return *std::move(program);
  }

  void expect_computes(const ir::Graph& graph) {
    auto program = build(graph);
    ASSERT_TRUE(program);
    cpu::expect_computes(*program, arena, graph, bindings_);
  }

  // From the first run on; of a graph whose launches are all run in this way, without oneDNN.
  void expect_allocates_nothing(const ir::Graph& graph, std::string_view implementation) {
    auto program = build(graph);
    ASSERT_TRUE(program);
    for (std::size_t k = 0; k < program->plan().launches.size(); ++k) EXPECT_EQ(program->implementation(k), implementation);
    for (int run = 0; run < 2; ++run) {
      const testing::Allocations allocations = testing::allocations_of([&] { program->run(); });
      EXPECT_EQ(allocations.own, 0U) << "run " << run;
      EXPECT_EQ(allocations.of_library, 0U) << "run " << run;
    }
    cpu::expect_computes(*program, arena, graph, bindings_);
  }

 private:
  std::unique_ptr<CpuDevice> device_;
  std::optional<Database> database_;
  std::optional<CostModel> costs_;
};

TEST_F(ProgramTest, ConvolutionsWithResidualsAndActivations) {
  const ValueId x = input({1, 3, 14, 14});
  const ValueId a = op("relu", {convolution(x, 3, 16, 3)});
  const ValueId b = op("relu", {op("add", {convolution(a, 16, 16, 3), constant({1, 16, 1, 1})})});
  const ValueId c = op("relu", {op("add", {op("add", {convolution(b, 16, 16, 1), a}), constant({16, 1, 1})})});
  const ValueId d = op("hard_sigmoid", {convolution(c, 16, 16, 3, 16)});
  const ValueId pooled = op("max_pool", {d}, {{"kernel", list({2, 2})}, {"strides", list({2, 2})}});
  const ValueId mean = op("reduce_mean", {pooled}, {{"axes", list({2, 3})}, {"keep_dims", Poly(0)}});
  expect_computes({{op("matmul", {mean, constant({16, 10})}), c}});
}

// Their memory is that of the value, so they cannot be packed.
TEST_F(ProgramTest, WeightsOfConvolutionsMayBeComputed) {
  const ValueId x = input({2, 16, 12, 12});
  const auto convolve = [&](const char* name, const Dims& weights, std::int64_t groups) {
    return op(name, {x, op("tanh", {input(weights)})},
              {{"strides", list({1, 1})}, {"pads", list({1, 1, 1, 1})}, {"dilations", list({1, 1})}, {"groups", Poly(groups)}});
  };
  expect_computes({{convolve("conv", {32, 16, 3, 3}, 1), convolve("conv", {16, 1, 3, 3}, 16), convolve("conv", {32, 8, 3, 3}, 2),
                    convolve("conv_transpose", {16, 32, 3, 3}, 1)}});
}

// The input and output memory of a program is that of its tensors, and does not move.
TEST_F(ProgramTest, TensorsAreReadAndWrittenInPlace) {
  const ValueId x = input({2, 6});
  const ValueId unread = input({4});
  const ValueId y = op("relu", {x});
  auto program = build({{y, op("reshape", {y}, {{"shape", list({12})}}), constant({3}), x}});
  ASSERT_TRUE(program);
  EXPECT_TRUE(program->input_memory(unread).empty());
  const auto memory = program->input_memory(x);
  ASSERT_FALSE(memory.empty());
  const std::vector<float> values = {-1, 2, -3, 4, -5, 6, -7, 8, -9, 10, -11, 12};
  for (const std::span<std::byte> one : memory) {
    ASSERT_EQ(one.size(), sizeof(float) * values.size());
    std::memcpy(one.data(), values.data(), one.size());
  }
  std::vector<std::size_t> launches;
  program->run([&](std::size_t launch) { launches.push_back(launch); });
  EXPECT_EQ(launches.size(), program->plan().launches.size());
  for (const std::size_t output : {0U, 1U, 3U}) {
    const auto bytes = program->output_memory(output);
    ASSERT_TRUE(bytes);
    ASSERT_EQ(bytes->size(), sizeof(float) * values.size());
    for (std::size_t k = 0; k < values.size(); ++k) {
      float value = 0;
      std::memcpy(&value, bytes->data() + k * sizeof(float), sizeof(float));
      EXPECT_EQ(value, output == 3 ? values[k] : std::max(values[k], 0.0F));
    }
  }
  EXPECT_EQ(program->output_memory(2)->size(), sizeof(float) * 3);
}

// Two programs, of which the second one reads what the first one wrote where it is, and both write what passes
// between their kernels to the same memory.
TEST_F(ProgramTest, ProgramsThatRunInTurnShareMemory) {
  const auto softmax = [&](ValueId value) { return op("softmax", {value}, {{"axis", Poly(1)}}); };
  const ValueId x = input({16, 32});
  const ValueId z = input({16, 32});
  const ir::Graph one{{softmax(op("matmul", {softmax(x), constant({32, 32})})), constant({3})}};
  const ir::Graph two{
      {op("matmul", {softmax(op("matmul", {softmax(z), constant({32, 64})})), op("reshape", {z}, {{"shape", list({64, 8})}})})}};
  PassingMemory passing;
  ProgramOptions options;
  options.passing = &passing;
  auto first = build(one, options);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->readable_output(1), nullptr);  // a constant
  ASSERT_NE(first->readable_output(0), nullptr);
  EXPECT_EQ(first->readable_output(0), first->output_memory(0)->data());
  options.inputs.emplace(z, first->readable_output(0));
  auto second = build(two, options);
  ASSERT_TRUE(second);
  for (const std::span<std::byte> memory : second->input_memory(z)) EXPECT_EQ(memory.data(), first->readable_output(0));
  for (int run = 0; run < 2; ++run) {
    first->run();
    second->run();
  }
  xflow::testing::expect_outputs(arena, one, bindings_, [&](std::size_t k) { return first->read(k); });
  xflow::testing::expect_outputs(arena, two, {{z, first->read(0).value()}}, [&](std::size_t k) { return second->read(k); });
}

TEST(PassingMemory, GrowsWhereMoreIsTaken) {
  PassingMemory memory;
  const auto first = memory.take(100);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first.get()) % 64, 0U);
  EXPECT_EQ(memory.take(50), first);
  EXPECT_EQ(memory.take(100), first);
  std::memset(first.get(), 1, 100);
  const auto larger = memory.take(200);
  EXPECT_NE(larger, first);
  EXPECT_TRUE(std::all_of(larger.get(), larger.get() + 200, [](std::byte byte) { return byte == std::byte{0}; }));
  EXPECT_EQ(first.get()[99], std::byte{1});  // still that of who took it
}

TEST_F(ProgramTest, AResidualThatIsReadLaterIsNotOverwritten) {
  const ValueId x = input({1, 16, 12, 12});
  const ValueId a = op("relu", {convolution(x, 16, 16, 3)});
  const ValueId b = op("add", {convolution(a, 16, 16, 3), a});
  const ValueId c = op("add", {convolution(b, 16, 16, 3), a});
  expect_computes({{op("mul", {c, b}), op("sub", {c, a})}});
}

TEST_F(ProgramTest, ValuesOfLowerRankMeetTensorsInOtherLayouts) {
  const ValueId x = input({2, 16, 9, 9});
  const ValueId plane = op("sigmoid", {input({9, 9})});
  const ValueId planes = op("tanh", {input({16, 9, 9})});
  const ValueId y = op("mul", {op("relu", {convolution(x, 16, 32, 3)}), plane});
  const ValueId z = op("add", {convolution(y, 32, 16, 3), planes});
  expect_computes({{op("concat", {z, x}, {{"axis", Poly(1)}}), op("add", {op("relu", {z}), planes})}});
}

TEST_F(ProgramTest, Attention) {
  const ValueId x = input({2, 5, 32});
  const auto heads = [&](ValueId v) {
    return op("transpose",
              {op("reshape", {op("add", {op("matmul", {v, constant({32, 32}, 0.3)}), constant({32})})}, {{"shape", list({2, 5, 4, 8})}})},
              {{"perm", list({0, 2, 1, 3})}});
  };
  const ValueId scores = op("matmul", {heads(x), op("transpose", {heads(x)}, {{"perm", list({0, 1, 3, 2})}})});
  const ValueId weights = op("softmax", {op("mul", {scores, constant({}, 0.5)})}, {{"axis", Poly(3)}});
  const ValueId mixed = op("transpose", {op("matmul", {weights, heads(x)})}, {{"perm", list({0, 2, 1, 3})}});
  const ValueId joined = op("add", {op("matmul", {op("reshape", {mixed}, {{"shape", list({2, 5, 32})}}), constant({32, 32}, 0.3)}), x});
  expect_computes({{joined, op("reduce_max", {joined}, {{"axes", list({2})}, {"keep_dims", Poly(1)}})}});
}

TEST_F(ProgramTest, OpenSizesAreThoseOfTheCover) {
  const ValueId x = open_input({3, 8});
  const ValueId y = op("softmax", {x}, {{"axis", Poly(1)}});
  const ValueId shape = op("shape", {y}, {{"start", Poly(0)}, {"end", Poly(2)}});
  expect_computes({{op("mul", {y, y}), shape}});
}

// N occurs in the shape of `y` inside of a rounded half only, from which it cannot be found again.
TEST_F(ProgramTest, ShapesOfRoundedSizes) {
  const ValueId x = open_input({5, 8});
  const Poly half = arena.symbols().floor_div(arena.type(x).shape[0], Poly(2));
  const ValueId y = op("slice", {x}, {{"starts", list({0, 0})}, {"sizes", std::vector<Poly>{half, Poly(8)}}, {"steps", list({1, 1})}});
  expect_computes({{y, op("shape", {y}, {{"start", Poly(0)}, {"end", Poly(2)}})}});
}

TEST_F(ProgramTest, OutputsMayBeInputsConstantsAndViews) {
  const ValueId x = input({2, 6});
  const ValueId unread = input({4});
  const ValueId y = op("softmax", {x}, {{"axis", Poly(1)}});
  expect_computes(
      {{x, y, op("reshape", {y}, {{"shape", list({12})}}), constant({3}), unread, op("reshape", {x}, {{"shape", list({3, 4})}})}});
}

TEST_F(ProgramTest, AlignedPartsAreViewsAndOthersAreCopied) {
  const auto parts_of = [&](ValueId x, std::vector<std::int64_t> sizes, std::int64_t axis) {
    const ValueId parts = op("split", {x}, {{"axis", Poly(axis)}, {"sizes", list(sizes)}});
    std::vector<ValueId> values;
    for (std::uint32_t k = 0; k < sizes.size(); ++k) values.push_back({parts.node, k});
    return values;
  };
  const auto launches = [&](const ir::Graph& graph) {
    expect_computes(graph);
    return build(graph)->plan().launches.size();
  };
  const ValueId y = op("softmax", {input({1, 64})}, {{"axis", Poly(1)}});
  // The gates of a cell. Some are overwritten.
  const std::vector<ValueId> gates = parts_of(y, {16, 16, 16, 16}, 1);
  const ValueId cell = op("mul", {op("sigmoid", {gates[0]}), op("tanh", {gates[1]})});
  const ValueId last = op("slice", {gates[3]}, {{"starts", list({0, 0})}, {"sizes", list({1, 5})}, {"steps", list({1, 1})}});
  EXPECT_EQ(launches({{gates[0], gates[2]}}), 1U);
  EXPECT_EQ(launches({{op("relu", {gates[1]}), last}}), 2U);
  expect_computes({{op("add", {cell, op("sigmoid", {gates[2]})}), op("softmax", {last}, {{"axis", Poly(1)}})}});
  EXPECT_EQ(launches({{parts_of(y, {10, 54}, 1)[1]}}), 2U) << "a part that begins at byte 40";
  const ValueId matrix = op("softmax", {input({4, 32})}, {{"axis", Poly(1)}});
  EXPECT_EQ(launches({{parts_of(matrix, {1, 3}, 0)[1]}}), 1U) << "rows";
  EXPECT_EQ(launches({{parts_of(matrix, {16, 16}, 1)[1]}}), 2U) << "columns";
  // An input, and a part of it in a matrix product.
  const ValueId x = input({32, 16});
  EXPECT_EQ(launches({{op("matmul", {parts_of(x, {16, 16}, 0)[1], constant({16, 8})})}}), 1U);
}

// A slice of open size is no constant, although it is a part of one.
TEST_F(ProgramTest, PartsOfConstantsAreCopied) {
  const ValueId x = open_input({5, 8});
  const ir::Poly rows = arena.type(x).shape[0];
  const ValueId part =
      op("slice", {constant({16, 8})}, {{"starts", list({0, 0})}, {"sizes", std::vector<Poly>{rows, Poly(8)}}, {"steps", list({1, 1})}});
  expect_computes({{op("add", {x, part}), part}});
}

TEST_F(ProgramTest, EmptyTensors) {
  const ValueId x = input({0, 6});
  expect_computes({{op("softmax", {x}, {{"axis", Poly(1)}}), op("concat", {op("relu", {x}), input({2, 6})}, {{"axis", Poly(0)}})}});
}

TEST_F(ProgramTest, AllocationsAreCounted) {
  EXPECT_GT(testing::allocations_of([] { std::vector<int> counted(3); }).own, 0U);
  EXPECT_EQ(testing::allocations_of([] {}).own, 0U);
}

TEST_F(ProgramTest, ARunOfLoopsAllocatesNothing) {
  const ValueId x = input({3, 8, 14});
  const ValueId a = op("erf", {op("add", {x, constant({8, 1})})});
  const ValueId b = op("slice", {a}, {{"starts", list({0, 1, 0})}, {"sizes", list({3, 5, 14})}, {"steps", list({1, 1, 1})}});
  const ValueId c = op("transpose", {b}, {{"perm", list({0, 2, 1})}});
  const ValueId sum = op("reduce_sum", {c}, {{"axes", list({2})}, {"keep_dims", Poly(0)}});
  const ValueId wide = op("cast", {sum}, {{"to", DataType::float64}});
  expect_allocates_nothing(
      {{op("softmax", {op("matmul", {wide, op("transpose", {wide}, {{"perm", list({1, 0})}})})}, {{"axis", Poly(1)}})}}, "loop");
}

TEST_F(ProgramTest, ARunInIndexNotationAllocatesNothing) {
  const ValueId wide = op("average_pool", {convolution(input({1, 6, 9, 9}, DataType::float64), 6, 4, 3, 2)},
                          {{"kernel", list({3, 3})}, {"strides", list({1, 1})}, {"pads", list({1, 1, 1, 1})}});
  const ValueId narrow = op("sin", {input({5, 40}, DataType::bfloat16)});
  const ValueId whole = input({6, 7}, DataType::uint16);
  const ValueId least = op("max_pool", {input({2, 4, 5, 6}, DataType::int8)}, {{"kernel", list({3, 3})}, {"strides", list({2, 2})}});
  expect_allocates_nothing({{wide, narrow, op("add", {whole, whole}), least}}, "index notation, loop");
}

// Within a launch oneDNN copies the list of arguments to a table (a table and an element each, in dnnl_primitive_execute), and some of its
// kernels allocate more.
TEST_F(ProgramTest, ARunOfTheLibraryAllocatesNothingOfOurs) {
  const ValueId x = input({1, 3, 14, 14});
  const ValueId a = op("relu", {convolution(x, 3, 16, 3)});
  const ValueId b = op("add", {convolution(a, 16, 16, 3), a});
  const ValueId c = op(
      "concat",
      {op("erf", {b}), op("slice", {b}, {{"starts", list({0, 1, 0, 0})}, {"sizes", list({1, 7, 14, 14})}, {"steps", list({1, 1, 1, 1})}})},
      {{"axis", Poly(1)}});
  const ValueId d = op("reduce_sum", {op("transpose", {c}, {{"perm", list({0, 2, 3, 1})}})}, {{"axes", list({3})}, {"keep_dims", Poly(0)}});
  const ValueId e = op("matmul", {op("softmax", {d}, {{"axis", Poly(2)}}), constant({14, 6})});
  auto program = build({{e, op("sin", {op("cast", {e}, {{"to", DataType::bfloat16}})})}});
  ASSERT_TRUE(program);
  EXPECT_EQ(testing::allocations_of([&] { program->run(); }).own, 0U);
  const testing::Allocations allocations = testing::allocations_of([&] { program->run(); });
  EXPECT_EQ(allocations.own, 0U);
  EXPECT_GT(allocations.of_library, 0U);
  constexpr std::size_t kMostOfALaunch = 10;
  EXPECT_LE(allocations.of_library, kMostOfALaunch * program->plan().launches.size());
}

TEST_F(ProgramTest, OpaqueNodesSplitIt) {
  const ValueId x = input({4, 8});
  const ValueId y = op("softmax", {x}, {{"axis", Poly(1)}});
  const ValueId unknown{arena.opaque(0, {y}, {ir::TensorType{DataType::float32, true, list({4, 8})}}), 0};
  const ValueId z = op("log_softmax", {unknown}, {{"axis", Poly(1)}});
  auto program = build({{y, unknown, z}});
  ASSERT_TRUE(program);
  program->run();
  EXPECT_EQ(program->plan().launches.size(), 2U);
  EXPECT_NEAR(program->plan().share_not_run(), 1.0 / 3, 1e-12);
  EXPECT_TRUE(program->read(0));
  const auto not_run = program->read(1);
  ASSERT_FALSE(not_run);
  EXPECT_EQ(not_run.error().message, "output 1 is not run");
  // It was computed, from what is drawn for the value that is not.
  const auto drawn = eval::doubles(program->read(2).value());
  ASSERT_TRUE(drawn);
  double sum = 0;
  for (std::size_t k = 0; k < 8; ++k) sum += std::exp((*drawn)[k]);
  EXPECT_NEAR(sum, 1, 1e-5);
  EXPECT_NE((*drawn)[0], (*drawn)[1]);
}

TEST_F(ProgramTest, HasTheProcessorTimeOfSeveralThreadsBesideTheWallClock) {
  const ValueId x = input({64, 96});
  const ValueId product = op("matmul", {x, constant({96, 96})});
  const auto make = [&]() -> Result<std::vector<Program>> {
    std::vector<Program> programs;
    programs.push_back(*build({{product}}));
    return programs;
  };
  for (const int threads : {1, 2}) {
    CpuOptions options;
    options.threads = threads;
    const auto device = open_cpu_device(options).value();
    CpuExecutor executor(*device);
    const auto times = executor.run(executor.add(make).value(), 0, 3);
    ASSERT_TRUE(times);
    EXPECT_GT(times->time.count(), 0);
    EXPECT_EQ(executor.clock(), threads == 2 ? Clock::wall_time : Clock::thread_cpu_time);
    EXPECT_FALSE(times->processor) << "of threads that spin while they wait";
  }
}

TEST_F(ProgramTest, IsNotBuiltToItsEndWhereItsDeviceIsStopped) {
  ValueId y = input({4, 8});
  for (int k = 0; k < 20; ++k) y = op("softmax", {y}, {{"axis", Poly(1)}});
  const ir::Graph graph{{y}};
  const auto sizes = [](ir::SymbolId) { return std::nullopt; };
  const auto device = open_cpu_device().value();
  Database database = Database::open("", device->info());
  CostModel costs(arena, *device, database, sizes);
  ASSERT_TRUE(Program::build(*device, arena, graph, costs, sizes));
  int asked = 0;
  device->stop_when([&] { return ++asked == 7; });  // every kernel is known
  const auto program = Program::build(*device, arena, graph, costs, sizes);
  device->stop_when(nullptr);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, ErrorCode::limit);
  EXPECT_EQ(program.error().message, "time is over");
  EXPECT_EQ(asked, 7);
}

TEST_F(ProgramTest, IsNotBuiltWhereARunTakesLongerThanIsLeft) {
  const ir::Graph graph{{op("matmul", {input({1300, 1300}), constant({1300, 1300})})}};
  const auto sizes = [](ir::SymbolId) { return std::nullopt; };
  const auto device = open_cpu_device().value();
  Database database = Database::open("", device->info());
  CostModel costs(arena, *device, database, sizes);
  device->set_seconds_left([] { return 1e6; });
  ASSERT_TRUE(Program::build(*device, arena, graph, costs, sizes));  // the kernel is known from now on
  device->set_seconds_left([] { return 1e-4; });
  const auto program = Program::build(*device, arena, graph, costs, sizes);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, ErrorCode::limit);
  EXPECT_TRUE(program.error().message.starts_with("a run takes at least 0.0")) << program.error().message;
  EXPECT_TRUE(program.error().message.ends_with(" s, and 0.0001 s are left")) << program.error().message;
}

TEST_F(ProgramTest, ARunThatIsStoppedWithinALaunchSaysNothing) {
  const ir::Graph graph{{op("matmul", {input({512, 512}, DataType::int64), input({512, 512}, DataType::int64)})}};
  const auto sizes = [](ir::SymbolId) { return std::nullopt; };
  const auto device = open_cpu_device().value();
  Database database = Database::open("", device->info());
  CostModel costs(arena, *device, database, sizes);
  CpuExecutor executor(*device);
  const auto id = executor.add([&]() -> Result<std::vector<Program>> {
    std::vector<Program> programs;
    programs.push_back(*Program::build(*device, arena, graph, costs, sizes));
    return programs;
  });
  ASSERT_TRUE(id) << id.error().text();
  ASSERT_TRUE(executor.run(*id, 0, 2));
  int asked = 0;
  device->stop_when([&] { return ++asked >= 100; });
  const auto times = executor.run(*id, 0, 2);
  ASSERT_FALSE(times);
  EXPECT_EQ(times.error().code, ErrorCode::limit);
  EXPECT_EQ(times.error().message, "time is over");
  EXPECT_EQ(asked, 100);
}

TEST_F(ProgramTest, RefusesInputsOfOtherSizes) {
  const ValueId x = input({4, 8});
  auto program = build({{op("relu", {x})}});
  ASSERT_TRUE(program);
  const auto written = program->write(x, eval::Tensor::of_doubles(DataType::float32, {4}, {1, 2, 3, 4}));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "an input is float32[4,8], float32[4] was given");
}

TEST_F(ProgramTest, PacksAConstantThatIsReadTwiceOnce) {
  const ValueId x = input({4, 512});
  const ValueId weights = constant({512, 512}, 0.1);  // 1 MiB
  const ir::Graph graph{{op("matmul", {op("relu", {op("matmul", {x, weights})}), weights})}};
  expect_computes(graph);
  const auto sizes = [](ir::SymbolId) { return std::nullopt; };
  const auto device = open_cpu_device().value();
  Database database = Database::open("", device->info());
  CostModel costs(arena, *device, database, sizes);
  // Both products may be one kernel or, with the activation, two that pack alike.
  EXPECT_TRUE(Program::build(*device, arena, graph, costs, sizes, {.most_bytes = 1.5e6}));
  EXPECT_FALSE(Program::build(*device, arena, graph, costs, sizes, {.most_bytes = 1e6}));
  // While it is set up it is there twice.
  EXPECT_FALSE(Program::build(*device, arena, graph, costs, sizes, {.most_bytes_in_setting_up = 1e6}));
  EXPECT_TRUE(Program::build(*device, arena, graph, costs, sizes, {.most_bytes_in_setting_up = 3e6}));
}

TEST_F(ProgramTest, TakesNoMoreMemoryThanItMay) {
  const ValueId x = input({64, 1024});
  const ir::Graph graph{{op("matmul", {x, constant({1024, 64})})}};
  const auto sizes = [](ir::SymbolId) { return std::nullopt; };
  const auto device = open_cpu_device().value();
  Database database = Database::open("", device->info());
  CostModel costs(arena, *device, database, sizes);
  const auto program = Program::build(*device, arena, graph, costs, sizes, {.most_bytes = 1e5});
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, ErrorCode::limit);
  EXPECT_EQ(program.error().message, "running it takes more than 0.0001 GB");
}

TEST_F(ProgramTest, WhatIndexNotationKeepsIsMemoryOfTheRun) {
  const ValueId x = input({1000, 100}, DataType::uint16);
  const ir::Graph graph{{op("add", {x, x})}};  // 0.4 MB, and 0.8 of sums as int64
  const auto sizes = [](ir::SymbolId) { return std::nullopt; };
  const auto device = open_cpu_device().value();
  Database database = Database::open("", device->info());
  CostModel costs(arena, *device, database, sizes);
  EXPECT_TRUE(Program::build(*device, arena, graph, costs, sizes, {.most_bytes = 1.3e6}));
  EXPECT_FALSE(Program::build(*device, arena, graph, costs, sizes, {.most_bytes = 1.1e6}));
}

}  // namespace
}  // namespace xflow::cost::cpu
