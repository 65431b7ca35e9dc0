// Launches on places that take turns.
#include "src/devices/cpu/rotation.h"

#include <cstring>
#include <map>
#include <set>

#include "src/devices/cpu/footprint.h"
#include "src/ops/operator.h"
#include "tests/devices/cpu_kernels.h"
#include "tests/ops/made_kernel.h"

namespace xflow::cost::cpu {
namespace {

constexpr std::size_t kKiB = 1024;

// Notes on which memory it is launched.
class NotingKernel final : public CpuKernel {
 public:
  using Launches = std::vector<std::pair<const std::byte*, const std::byte*>>;  // constant, result

  NotingKernel(std::size_t constant_bytes, std::size_t result_bytes, bool copies, std::shared_ptr<Launches> launches)
      : copies_(copies), launches_(std::move(launches)), memory_(3) {
    memory_[0].resize(64);
    memory_[1].resize(constant_bytes, std::byte{7});
    memory_[2].resize(result_bytes, std::byte{9});
    for (std::size_t k = 0; k < 3; ++k) places_[k] = memory_[k];
  }

  void run() override { launches_->emplace_back(places_[1].data(), places_[2].data()); }
  Result<void> write(std::size_t, std::span<const double>) override { return {}; }
  Result<std::vector<double>> read(std::size_t) const override { return std::vector<double>(); }
  std::span<std::byte> operand_bytes(std::size_t operand) override { return places_.at(operand); }
  std::span<std::byte> result_bytes(std::size_t) override { return places_[2]; }
  void bind_operand(std::size_t operand, std::byte* place) override { places_.at(operand) = {place, places_.at(operand).size()}; }
  void bind_result(std::size_t, std::byte* place) override { places_[2] = {place, places_[2].size()}; }
  std::unique_ptr<CpuKernel> copy() const override {
    if (!copies_) return nullptr;
    auto same = std::make_unique<NotingKernel>(0, 0, true, launches_);
    same->places_ = places_;
    return same;
  }
  std::string_view implementation() const override { return "noting"; }
  Layout operand_layout() const override { return Layout::plain; }
  Layout result_layout() const override { return Layout::plain; }

 private:
  bool copies_;
  std::shared_ptr<Launches> launches_;
  std::vector<std::vector<std::byte>> memory_;
  std::array<std::span<std::byte>, 3> places_;
};

// A value and a constant, 8 KiB of it, and 16 KiB of a result, unless said otherwise.
class RotationTest : public ::testing::TestWithParam<bool> {
 protected:
  NotingKernel::Launches launch(const RotationSizes& sizes, int times, std::size_t constant_bytes = 8 * kKiB) {
    const auto launches = std::make_shared<NotingKernel::Launches>();
    NotingKernel kernel(constant_bytes, 16 * kKiB, GetParam(), launches);
    own_ = kernel.result_bytes(0).data();
    const ops::KernelSpec spec = ops::made_kernel("matmul", "", {tensor({4, 4}), tensor({4, 4}, true)}, {tensor({4, 4})});
    Rotation rotation(kernel, spec, sizes);
    turns_ = rotation.turns();
    for (int k = 0; k < times; ++k) {
      rotation.launch();
      // What is there is what the kernel had.
      EXPECT_EQ(*launches->back().first, std::byte{7});
      EXPECT_EQ(launches->back().first[constant_bytes - 1], std::byte{7});
      EXPECT_EQ(*launches->back().second, std::byte{9});
    }
    return *launches;
  }
  const std::byte* own_ = nullptr;
  std::size_t turns_ = 0;
};

std::size_t distinct_constants(const NotingKernel::Launches& launches) {
  std::set<const std::byte*> places;
  for (const auto& [constant, result] : launches) places.insert(constant);
  return places.size();
}
std::size_t distinct_results(const NotingKernel::Launches& launches) {
  std::set<const std::byte*> places;
  for (const auto& [constant, result] : launches) places.insert(result);
  return places.size();
}

TEST_P(RotationTest, GoesThroughAsMuchMemoryAsIsAskedFor) {
  const auto launches = launch({100 * kKiB, 100 * kKiB}, 24);
  EXPECT_EQ(turns_, 12U);  // of 8 KiB and some slack
  EXPECT_EQ(distinct_constants(launches), 12U);
  EXPECT_EQ(distinct_results(launches), 6U);  // of 16 KiB and some slack
  // No place comes again before all others did.
  for (std::size_t k = 0; k < 12; ++k) EXPECT_EQ(launches[k].first, launches[k + 12].first);
  for (std::size_t k = 0; k < 18; ++k) EXPECT_EQ(launches[k].second, launches[k + 6].second);
}

TEST_P(RotationTest, LeavesTheKernelWhereItIsIfNothingIsToBeBetween) {
  const auto launches = launch({}, 4);
  EXPECT_EQ(turns_, 1U);
  EXPECT_EQ(distinct_constants(launches), 1U);
  EXPECT_EQ(launches[3].second, own_);
}

TEST_P(RotationTest, SmallConstantsStay) {
  const auto launches = launch({100 * kKiB, 0}, 4, 100);
  EXPECT_EQ(turns_, 1U);
  EXPECT_EQ(distinct_results(launches), 1U);
}

TEST_P(RotationTest, ConstantsLargerThanWhatIsBetweenEvictThemselves) {
  launch({100 * kKiB, 0}, 2, 200 * kKiB);
  EXPECT_EQ(turns_, 1U);
}

INSTANTIATE_TEST_SUITE_P(CopiedOrBound, RotationTest, ::testing::Bool(), [](const auto& info) { return info.param ? "Copied" : "Bound"; });

TEST(Rotation, KernelsComputeTheSameInAllTurns) {
  // By oneDNN, in each way that it has, and by a loop of ours.
  const ops::KernelSpec product = ops::made_kernel("matmul", "", {tensor({16, 64}), tensor({64, 64}, true)}, {tensor({16, 64})});
  const ops::KernelSpec chain = pointwise("add", {tensor({64, 64}), tensor({64, 64}, true)}, {64, 64});
  for (const ops::KernelSpec& spec : {product, chain}) {
    const auto kernels = device().build(spec, Layout::plain);
    ASSERT_TRUE(kernels) << kernels.error().text();
    for (const auto& kernel : *kernels) {
      SCOPED_TRACE(kernel->implementation());
      for (std::size_t k = 0; k < spec.operands.size(); ++k) {
        std::vector<double> values(static_cast<std::size_t>(spec.operands[k].dims[0] * spec.operands[k].dims[1]));
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>((i * (k + 3)) % 17) / 16;
        ASSERT_TRUE(kernel->write(k, values));
      }
      kernel->run();
      const std::span<const std::byte> first = kernel->result_bytes(0);
      const std::vector<std::byte> expected(first.begin(), first.end());
      Rotation rotation(*kernel, spec, {64 * kKiB, 64 * kKiB});
      EXPECT_GT(rotation.turns(), 2U);
      for (std::size_t k = 0; k < rotation.turns(); ++k) rotation.launch();
      for (std::size_t turn = 0; turn < rotation.turns(); ++turn)
        EXPECT_EQ(std::memcmp(rotation.result(turn), expected.data(), expected.size()), 0) << turn;
    }
  }
}

// What a run goes through. -----------------------------------------------------------------------------------------------------------

TEST(Footprint, CountsConstantsTheLargestOperationAndDifferentKernels) {
  ir::Arena arena;
  const auto value = [&](std::uint32_t number) {
    return arena.input(ir::TensorType{ir::DataType::float32, true, ir::polys(std::vector<std::int64_t>{8, 1024})}, number);
  };
  const auto op = [&](const char* name, std::vector<ir::ValueId> operands) {
    return ops::apply(arena, name, std::move(operands), {}).value();
  };
  const std::vector<double> ones(1024 * 1024, 1.0);
  const ir::ValueId weights = arena.constant(ir::make_constant(ir::DataType::float32, {1024, 1024}, ones).value());
  const auto sizes = [](ir::SymbolId) { return std::nullopt; };
  const ir::ValueId product = op("matmul", {value(0), weights});
  constexpr std::size_t kKernel = 16 * kKiB;
  constexpr std::size_t kProduct = 2 * 8 * 1024 * 4;
  EXPECT_EQ(bytes_of_run(arena, {{product}}, sizes), 1024 * 1024 * 4 + kProduct + kKernel);
  // The same constant and the same kernel once more.
  EXPECT_EQ(bytes_of_run(arena, {{op("matmul", {product, weights})}}, sizes), 1024 * 1024 * 4 + kProduct + kKernel);
  EXPECT_EQ(bytes_of_run(arena, {{op("add", {op("relu", {value(0)}), value(1)})}}, sizes), 3 * 8 * 1024 * 4 + 2 * kKernel);
}

TEST(Footprint, ChoosesWhatIsBetweenLaunches) {
  constexpr std::size_t kMiB = std::size_t{1} << 20U;
  EXPECT_EQ(cache_footprint_for(100 * kKiB, 1), 0U);
  EXPECT_EQ(cache_footprint_for(100 * kMiB, 1), 64 * kMiB);
  EXPECT_EQ(cache_footprint_for(63 * kMiB, 1), 64 * kMiB);
  EXPECT_EQ(cache_footprint_for(19 * kMiB, 1), 16 * kMiB);  // a little more than an element
  EXPECT_EQ(cache_footprint_for(21 * kMiB, 1), 64 * kMiB);
  EXPECT_EQ(caches_name(0), "warm");
  EXPECT_EQ(caches_name(16 * kMiB), "16MiB");
  EXPECT_EQ(cache_footprint_for(40 * kMiB, 1000), 0U);  // each core holds a part of it
}

}  // namespace
}  // namespace xflow::cost::cpu
