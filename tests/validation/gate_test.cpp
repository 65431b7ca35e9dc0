// The gate against executors of which the test knows the truth.
#include "src/validation/gate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

namespace xflow::cost {
namespace {

constexpr ProgramId kOriginal{0};
constexpr ProgramId kCandidate{1};

// A machine on which the test says how long each program takes, with a clock of its own that moves when something runs.
class GateMachine : public Executor {
 public:
  explicit GateMachine(std::uint64_t seed = 1) : random_(seed) {}

  const DeviceInfo& info() const override { return info_; }
  Clock clock() const override { return processor_loses > 0 ? Clock::wall_time : Clock::cpu_time; }

  Result<RunTimes> run(ProgramId program, std::size_t sizes, int repeats) override {
    ++runs[program];
    order.push_back(program);
    if (const auto broken = breaks_after.find(program); broken != breaks_after.end() && runs[program] > broken->second)
      return fail(ErrorCode::io, "the runner died");
    double time = 0;
    for (int k = 0; k < repeats; ++k) {
      const double own = true_time(program, sizes) * place_of(program) * (1 + drift * seconds) * std::exp(noise * normal_(random_));
      time += own;
      seconds += own / 1e9;
    }
    RunTimes times{Nanoseconds(time / repeats), std::nullopt};
    if (processor_loses > runs[program])
      times.processor =
          Nanoseconds{(program == kCandidate ? processor_ratio : 1) * milliseconds * 2e6 * std::exp(noise * normal_(random_))};
    return times;
  }

  void renew() override {
    places_.clear();
    ++renewals;
  }

  // By how much a program is slower where it lies.
  double place_of(ProgramId program) {
    const auto known = places_.find(program);
    if (known != places_.end()) return known->second;
    const double place = std::exp(spread * normal_(random_)) * (places_.empty() ? 1 : last_is_slower);
    return places_.emplace(program, place).first->second;
  }

  double true_time(ProgramId program, std::size_t sizes) const {
    const auto found = times.find({program, sizes});
    return found == times.end() ? milliseconds * 1e6 : found->second;
  }

  double milliseconds = 20;
  std::map<std::pair<ProgramId, std::size_t>, double> times;  // nanoseconds, where others than `milliseconds`
  double noise = 0;                                           // standard deviation of the logarithm of a time
  double drift = 0;                                           // share by which a second makes the machine slower
  double spread = 0;                                          // the same of places in memory
  double last_is_slower = 1;                                  // by this factor, that which is set up last
  int processor_loses = 0;                                    // until this run of a program there is processor time as well
  double processor_ratio = 1;                                 // of the candidate's
  int renewals = 0;
  std::map<ProgramId, int> breaks_after;  // runs
  std::map<ProgramId, int> runs;
  std::vector<ProgramId> order;
  double seconds = 0;

 private:
  DeviceInfo info_{"fake", "a machine", "none", 1, "its own clock"};
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::map<ProgramId, double> places_;
};

GateResult judge(GateMachine& machine, std::size_t choices = 1, GateOptions options = {}) {
  options.clock = [&] { return machine.seconds; };
  return gate(machine, kOriginal, kCandidate, choices, options);
}

// How many of `machines` let the candidate pass.
int passes(int machines, double ratio, double noise, double drift = 0, double spread = 0, double last_is_slower = 1) {
  int passed = 0;
  for (int seed = 1; seed <= machines; ++seed) {
    GateMachine machine(static_cast<std::uint64_t>(seed));
    machine.noise = noise;
    machine.drift = drift;
    machine.spread = spread;
    machine.last_is_slower = last_is_slower;
    machine.times[{kCandidate, 0}] = ratio * machine.milliseconds * 1e6;
    GateOptions options;
    options.seed = static_cast<std::uint64_t>(seed);
    if (judge(machine, 1, options).passed) ++passed;
  }
  return passed;
}

TEST(Gate, LetsAFasterCandidatePassAfterTheLeastNumberOfPairs) {
  GateMachine machine;
  machine.times[{kCandidate, 0}] = 10e6;
  const GateResult result = judge(machine);
  EXPECT_TRUE(result.passed);
  EXPECT_EQ(result.reason, "");
  ASSERT_EQ(result.comparisons.size(), 1U);
  const GateComparison& c = result.comparisons[0];
  EXPECT_EQ(c.verdict, GateVerdict::faster);
  EXPECT_EQ(c.stop, GateStop::decided);
  EXPECT_EQ(c.pairs, 39U) << "15 as they are set up first, and three times 8";
  EXPECT_EQ(c.faster, 39U);
  EXPECT_EQ(c.slower, 0U);
  EXPECT_NEAR(c.ratio, 0.5, 1e-9);
  EXPECT_NEAR(c.low, 0.5, 1e-9);
  EXPECT_NEAR(c.high, 0.5, 1e-9);
  EXPECT_NEAR(c.original.count(), 20e6, 1);
  EXPECT_NEAR(c.candidate.count(), 10e6, 1);
  EXPECT_NEAR(c.p_value, std::pow(0.5, 39), 1e-15);
  EXPECT_EQ(machine.renewals, 3);
  ASSERT_EQ(c.confirmations.size(), 3U);
  for (const double ratio : c.confirmations) EXPECT_NEAR(ratio, 0.5, 1e-9);
  EXPECT_NEAR(result.seconds, (18 + 3 * 9) * 0.03, 1e-9);
}

TEST(Gate, FindsAFewPerCentInNoise) {
  EXPECT_EQ(passes(50, 0.95, 0.03), 50);
  EXPECT_GE(passes(50, 0.98, 0.03), 45);
}

TEST(Gate, LetsNoCandidatePassThatIsSlowerByOnePerCent) {
  EXPECT_EQ(passes(200, 1.01, 0.01), 0);
  EXPECT_EQ(passes(200, 1.01, 0.03), 0);
  EXPECT_EQ(passes(200, 1.01, 0), 0);
}

TEST(Gate, LetsEqualCandidatesPassRarely) {
  // The level over all looks is 5 %; sums of probabilities of looks that have much in common make it less.
  EXPECT_LE(passes(400, 1, 0.02), 20);
  EXPECT_EQ(passes(20, 1, 0), 0) << "equal times say nothing";
}

TEST(Gate, IsNotMisledByAMachineThatDrifts) {
  EXPECT_EQ(passes(50, 0.97, 0.01, 0.5), 50);
  EXPECT_EQ(passes(50, 0.97, 0.01, -0.02), 50);
  EXPECT_LE(passes(200, 1, 0.01, 0.5), 10);
  EXPECT_EQ(passes(100, 1.02, 0.01, -0.02), 0);
}

TEST(Gate, IsNotMisledByWhereProgramsLieInMemory) {
  // Set up once, every third equal program would pass.
  EXPECT_LE(passes(200, 1, 0.01, 0, 0.01), 14);
  EXPECT_EQ(passes(100, 1, 0.01, 0, 0, 0.98), 0) << "the candidate is set up last, but not each time";
  EXPECT_EQ(passes(100, 1.01, 0.01, 0, 0, 0.98), 0);
  EXPECT_GE(passes(50, 0.95, 0.02, 0, 0.01), 48);
  EXPECT_GE(passes(50, 0.95, 0.02, 0, 0, 1.02), 48);
}

TEST(Gate, SaysThatACandidateIsFasterInOnePlaceAlone) {
  GateMachine machine;
  machine.last_is_slower = 0.9;
  const GateResult result = judge(machine);
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.reason,
            "it is faster in the first setup only: 0.900 of the original's time [0.900, 1.111] in 23 pairs; in other setups 1.111");
  EXPECT_STREQ(to_string(result.comparisons[0].stop), "it was not faster when both had been set up again");
  EXPECT_EQ(machine.renewals, 1);
}

// The gate where the executor has the wall clock and the processor's.
GateResult by_two_clocks(double wall_ratio, double processor_ratio, double noise = 0, std::uint64_t seed = 1, int processor_loses = 1'000) {
  GateMachine machine(seed);
  machine.milliseconds = 100;
  machine.times[{kCandidate, 0}] = wall_ratio * 100e6;
  machine.processor_ratio = processor_ratio;
  machine.processor_loses = processor_loses;
  machine.noise = noise;
  GateOptions options;
  options.seed = seed;
  return judge(machine, 1, options);
}

TEST(Gate, WantsTheCandidateFasterByOneClockAndNotSlowerByTheOther) {
  const GateResult both = by_two_clocks(0.9, 0.8);
  EXPECT_TRUE(both.passed) << both.reason;
  ASSERT_TRUE(both.comparisons[0].processor);
  const GateTimes& processor = *both.comparisons[0].processor;
  EXPECT_NEAR(both.comparisons[0].ratio, 0.9, 1e-9);
  EXPECT_NEAR(processor.ratio, 0.8, 1e-9);
  EXPECT_NEAR(processor.original.count(), 200e6, 1);
  EXPECT_NEAR(processor.candidate.count(), 160e6, 1);
  EXPECT_EQ(processor.faster, 39U);
  EXPECT_EQ(processor.slower, 0U);
  EXPECT_EQ(processor.confirmations.size(), 3U);
  EXPECT_TRUE(by_two_clocks(0.9, 1).passed);
  EXPECT_TRUE(by_two_clocks(1, 0.9).passed);
  EXPECT_TRUE(by_two_clocks(1, 0.9, 0.03).passed) << "neither is faster by the wall clock in noise";
  EXPECT_EQ(by_two_clocks(0.9, 1.05).reason,
            "it is slower: 0.900 of the original's time [0.900, 0.900] and 1.050 of its processor time [1.050, 1.050] in 15 pairs");
  EXPECT_EQ(by_two_clocks(1.05, 0.5).reason,
            "it is slower: 1.050 of the original's time [1.050, 1.050] and 0.500 of its processor time [0.500, 0.500] in 15 pairs");
  EXPECT_EQ(by_two_clocks(1, 1).reason,
            "it is not faster: 1.000 of the original's time [1.000, 1.000] and 1.000 of its processor time [1.000, 1.000] in 127 pairs");
}

TEST(Gate, LetsEqualCandidatesPassRarelyByTwoClocks) {
  int passed = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) passed += by_two_clocks(1, 1, 0.005, seed).passed ? 1 : 0;
  EXPECT_LE(passed, 20);
}

TEST(Gate, GoesByTheWallClockWhereTheProcessorTimeIsLost) {
  const GateResult result = by_two_clocks(1, 0.5, 0, 1, 10);
  EXPECT_FALSE(result.comparisons[0].processor);
  EXPECT_EQ(result.reason, "it is not faster: 1.000 of the original's time [1.000, 1.000] in 127 pairs");
}

TEST(Gate, SaysThatACandidateIsFasterInOnePlaceByTwoClocks) {
  GateMachine machine;
  machine.milliseconds = 100;
  machine.last_is_slower = 0.9;
  machine.processor_loses = 1'000;
  const GateResult result = judge(machine);
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.reason,
            "it is faster in the first setup only: 0.900 of the original's time [0.900, 1.111] and 1.000 of its processor time [1.000, "
            "1.000] in 23 pairs; in other setups 1.111, processor time 1.000");
}

TEST(Gate, SaysThatThereWasNoTimeToSetUpBothAgain) {
  GateMachine machine;
  machine.milliseconds = 1000;
  machine.times[{kCandidate, 0}] = 900e6;
  GateOptions options;
  options.max_seconds = 40;  // 18 pairs take 34 s
  const GateResult result = judge(machine, 1, options);
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.reason,
            "the budget of 40 s was used up before both could be set up again: 0.900 of the original's time [0.900, 0.900] in 16 pairs");
  EXPECT_STREQ(to_string(result.comparisons[0].stop), "the budget of time was used up before both could be set up again");
  options.max_seconds = 60;
  const GateResult more = judge(machine, 1, options);
  EXPECT_TRUE(more.passed) << more.reason;
  EXPECT_LT(more.comparisons[0].pairs, 39U) << "fewer pairs do where time is short";
}

TEST(Gate, SaysWhyACandidateDoesNotPass) {
  GateMachine machine;
  machine.times[{kCandidate, 0}] = 21e6;
  EXPECT_EQ(judge(machine).reason, "it is slower: 1.050 of the original's time [1.050, 1.050] in 15 pairs");
  GateMachine equal;
  const GateResult result = judge(equal);
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.comparisons[0].verdict, GateVerdict::equal);
  EXPECT_EQ(result.comparisons[0].stop, GateStop::pairs);
  EXPECT_EQ(result.reason, "it is not faster: 1.000 of the original's time [1.000, 1.000] in 127 pairs");
  GateMachine slow;
  slow.milliseconds = 4000;
  EXPECT_EQ(judge(slow).reason, "the budget of 60 s was used up after 5 of 15 pairs");
  GateMachine noisy;
  noisy.noise = 0.5;
  EXPECT_TRUE(judge(noisy).reason.starts_with("it may be slower: ")) << judge(noisy).reason;
}

TEST(Gate, WantsAllChoicesOfSizesNotSlowerAndOneFaster) {
  GateMachine machine;
  machine.noise = 0.003;
  machine.times[{kCandidate, 1}] = 18e6;
  const GateResult one = judge(machine, 3);
  EXPECT_TRUE(one.passed) << one.reason;
  ASSERT_EQ(one.comparisons.size(), 3U);
  EXPECT_EQ(one.comparisons[1].verdict, GateVerdict::faster);
  EXPECT_EQ(one.comparisons[2].verdict, GateVerdict::equal);

  machine.times[{kCandidate, 2}] = 20.4e6;
  const GateResult slower = judge(machine, 3);
  EXPECT_FALSE(slower.passed);
  EXPECT_TRUE(slower.reason.starts_with("it is slower at sizes 3: 1.0")) << slower.reason;

  machine.times.clear();
  EXPECT_FALSE(judge(machine, 3).passed);
  EXPECT_EQ(judge(machine, 0).reason, "there was nothing to run it on");
}

TEST(Gate, RunsNoFurtherSizesOnceOneDecidedAgainstTheCandidate) {
  GateMachine machine;
  machine.times[{kCandidate, 0}] = 30e6;
  machine.times[{kCandidate, 1}] = 10e6;
  EXPECT_EQ(judge(machine, 2).comparisons.size(), 1U);
}

TEST(Gate, SharesItsTimeBetweenChoicesOfSizes) {
  GateMachine machine;
  machine.milliseconds = 300;  // 127 pairs would take 76 s
  machine.noise = 0.003;
  machine.times[{kCandidate, 1}] = 200e6;
  const GateResult result = judge(machine, 2);
  EXPECT_EQ(result.comparisons[0].stop, GateStop::time);
  EXPECT_NEAR(static_cast<double>(result.comparisons[0].pairs), 47, 3);
  EXPECT_EQ(result.comparisons[1].verdict, GateVerdict::faster);
  EXPECT_TRUE(result.passed) << result.reason;
}

TEST(Gate, EndsWithItsBudget) {
  for (const double budget : {0.0, 0.5, 3.0}) {
    GateMachine machine;
    machine.noise = 0.01;
    GateOptions options;
    options.max_seconds = budget;
    const GateResult result = judge(machine, 1, options);
    EXPECT_FALSE(result.passed);
    EXPECT_LE(result.seconds, budget + 0.05);
    EXPECT_EQ(result.comparisons[0].stop, GateStop::time);
  }
}

TEST(Gate, MayDecideEarlyWhereTheBudgetEnds) {
  GateMachine machine;
  machine.noise = 0.01;
  machine.drift = 0;
  machine.times[{kCandidate, 0}] = 19.8e6;  // less than the noise: 15 pairs are too few
  GateOptions options;
  options.max_seconds = 4;  // 97 pairs
  const GateResult result = judge(machine, 1, options);
  const GateComparison& c = result.comparisons[0];
  EXPECT_EQ(c.verdict, GateVerdict::faster);
  EXPECT_LE(c.p_value, 0.05 / 4);
}

TEST(Gate, SurvivesCrashes) {
  for (const ProgramId broken : {kOriginal, kCandidate}) {
    for (const int runs : {0, 2, 10}) {
      GateMachine machine;
      machine.breaks_after[broken] = runs;
      const GateResult result = judge(machine);
      EXPECT_FALSE(result.passed);
      EXPECT_EQ(result.comparisons[0].verdict, GateVerdict::failed);
      EXPECT_EQ(result.comparisons[0].stop, GateStop::failure);
      const std::string who = broken == kOriginal ? "original" : "candidate";
      EXPECT_EQ(result.reason, "it could not be run: " + who + ": the runner died");
      EXPECT_EQ(machine.runs[broken], runs + 1) << "nothing is run again after an error";
    }
  }
}

TEST(Gate, RunsEachProgramInBothPlacesOfAPairInAnOrderThatTheSeedDraws) {
  const auto order_of = [](std::uint64_t seed) {
    GateMachine machine;
    GateOptions options;
    options.seed = seed;
    judge(machine, 1, options);
    EXPECT_EQ(machine.runs[kOriginal], machine.runs[kCandidate]);
    return std::vector<ProgramId>(machine.order.begin() + 6, machine.order.end());
  };
  const std::vector<ProgramId> order = order_of(1);
  EXPECT_EQ(order, order_of(1));
  EXPECT_NE(order, order_of(2));
  std::size_t original_first = 0;
  for (std::size_t k = 0; k < order.size(); k += 2) {
    EXPECT_NE(order[k], order[k + 1]);
    original_first += order[k] == kOriginal ? 1 : 0;
  }
  EXPECT_GT(original_first, order.size() / 2 / 4);
  EXPECT_LT(original_first, order.size() / 2 * 3 / 4);
}

TEST(Gate, MakesSamplesOfShortRuns) {
  GateMachine machine;
  machine.milliseconds = 0.05;
  EXPECT_EQ(judge(machine).comparisons[0].repeats, 400);
  machine.milliseconds = 15;
  EXPECT_EQ(judge(machine).comparisons[0].repeats, 2);
  machine.milliseconds = 350;
  EXPECT_EQ(judge(machine).comparisons[0].repeats, 1);
  machine.milliseconds = 0.05;
  machine.processor_loses = 1'000;
  EXPECT_EQ(judge(machine).comparisons[0].repeats, 2000) << "by the wall clock";
}

}  // namespace
}  // namespace xflow::cost
