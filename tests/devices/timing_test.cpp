// Timing on machines that do other things as well.
#include "src/devices/cpu/timing.h"

#include <gtest/gtest.h>

#include <random>

namespace xflow::cost::cpu {
namespace {

// A machine of which the test says how long a launch takes, by CPU time and by the wall.
struct Machine {
  Clocks clocks{};
  ClockReader reader() {
    return [this] { return clocks; };
  }
  void pass(double thread, double wall) {
    clocks.thread += Nanoseconds{thread};
    clocks.wall += Nanoseconds{wall};
  }
};

KernelCost time_one(Machine& machine, const std::function<void()>& run, bool thread_time = true) {
  const std::vector<std::function<void()>> runs = {run};
  return time_interleaved(runs, {}, thread_time, machine.reader())[0];
}

TEST(Timing, OfAQuietMachineIsExact) {
  Machine machine;
  const KernelCost cost = time_one(machine, [&] { machine.pass(750, 750); });
  EXPECT_NEAR(cost.median.count(), 750, 1e-6);
  EXPECT_NEAR(cost.spread.count(), 0, 1e-6);
  EXPECT_GE(cost.repeats, 900'000 / 750);
}

TEST(Timing, ForgetsAWhileInWhichEverythingIsSlow) {
  // A neighbour slows every launch of half the time by a third, in every other 400 us.
  Machine machine;
  const KernelCost cost = time_one(machine, [&] {
    const bool slow = static_cast<std::int64_t>(machine.clocks.wall.count() / 400e3) % 2 == 0;
    machine.pass(slow ? 1333 : 1000, slow ? 1333 : 1000);
  });
  EXPECT_NEAR(cost.median.count(), 1000, 1);
}

TEST(Timing, DoesNotCountSamplesInWhichTheThreadWaited) {
  // Every other sample the thread loses the core for a millisecond and finds its caches cold: its own launches take twice as long.
  Machine machine;
  std::mt19937_64 random(1);
  int cold = 0;
  const KernelCost cost = time_one(machine, [&] {
    const bool lost = random() % 40 == 0;
    if (lost) cold = 20;
    const double own = cold-- > 0 ? 2000 : 1000;
    machine.pass(own, own + (lost ? 1e6 : 0));
  });
  EXPECT_NEAR(cost.median.count(), 1000, 1);
}

TEST(Timing, CountsOutliersAndLeavesThemOut) {
  Machine machine;
  std::mt19937_64 random(1);
  int slow = 0;
  const KernelCost cost = time_one(machine, [&] {
    const bool interrupted = random() % 10 == 0;
    const bool late = random() % 10 == 0;
    if (interrupted || late) ++slow;
    machine.pass(late ? 90e3 : 30e3, (late ? 90e3 : 30e3) + (interrupted ? 1e6 : 0));
  });
  EXPECT_NEAR(cost.median.count(), 30e3, 1);
  EXPECT_EQ(cost.samples, cost.repeats);  // of one launch each
  EXPECT_GT(cost.outliers, 0);
  EXPECT_LE(cost.outliers, slow);
  EXPECT_GE(cost.outliers, slow - 2);  // the first launches are no samples
}

TEST(Timing, CountsCpuTimeOrTheWallAsRequested) {
  Machine machine;
  const auto waits = [&] { machine.pass(1000, 3000); };  // half-used cores: no sample is whole, so all count
  EXPECT_NEAR(time_one(machine, waits, true).median.count(), 1000, 1e-6);
  EXPECT_NEAR(time_one(machine, waits, false).median.count(), 3000, 1e-6);
}

TEST(Timing, FunctionsThatTakeTurnsMeetTheSameInterference) {
  // The machine slows down for good while it is used: one after the other, the second function would look slower.
  Machine machine;
  const auto launch = [&](double time) {
    const double now = time * (1 + machine.clocks.wall.count() / 20e6);
    machine.pass(now, now);
  };
  const std::vector<std::function<void()>> runs = {[&] { launch(1050); }, [&] { launch(1000); }};
  const std::vector<KernelCost> costs = time_interleaved(runs, {}, true, machine.reader());
  EXPECT_LT(costs[1].median.count(), costs[0].median.count());
  EXPECT_LT(costs[0].median.count(), 1100);
}

TEST(Timing, EndsWhereNothingIsEverStable) {
  Machine machine;
  std::mt19937_64 random(1);
  const KernelCost cost = time_one(machine, [&] {
    const double time = std::pow(10.0, std::uniform_real_distribution<double>(2, 6)(random));
    machine.pass(time, time);
  });
  EXPECT_GT(cost.median.count(), 0);
  EXPECT_GT(cost.repeats, 0);
}

}  // namespace
}  // namespace xflow::cost::cpu
