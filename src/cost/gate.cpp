#include "src/cost/gate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <random>
#include <span>

#include "src/cost/sign_test.h"

namespace xflow::cost {
namespace {

constexpr int kMostRepeats = 100'000;
constexpr std::size_t kLeastPairsAgain = 3;  // where time is short

double wall_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Two programs at one choice of sizes.
class Duel {
 public:
  Duel(Executor& executor, std::array<ProgramId, 2> programs, const GateOptions& options, double level,
       std::function<double()> seconds_left)
      : executor_(executor), programs_(programs), options_(options), level_(level), seconds_left_(std::move(seconds_left)) {}

  GateComparison fight(std::size_t sizes, std::mt19937_64& random) {
    state_.sizes = sizes;
    decide(random);
    if (state_.verdict == GateVerdict::faster) confirm(random);
    return state_;
  }

 private:
  void decide(std::mt19937_64& random) {
    if (!warm_up()) return;
    std::size_t look = options_.least_pairs;
    for (std::size_t looks = 0; looks < options_.looks; look = 2 * look + 1) {
      while (state_.pairs < look && seconds_left_() > 0)
        if (!pair(random)) return;
      // A look that the budget brings forward is the last.
      ++looks;
      if (state_.pairs < look) {
        return conclude(GateStop::time);
      }
      conclude(GateStop::pairs);
      if (state_.stop == GateStop::decided) return;
    }
  }

  // Runs both again in each further setting-up, half as often, or as often as there is time.
  void confirm(std::mt19937_64& random) {
    const std::size_t pairs = (state_.pairs + 1) / 2;
    for (std::size_t k = 1; k < options_.settings; ++k) {
      executor_.renew();
      const double rest = seconds_left_() * static_cast<double>(options_.settings - 1 - k) / static_cast<double>(options_.settings - k);
      for (const std::size_t who : {k % 2, 1 - k % 2}) {
        if (seconds_left_() <= rest) return conclude(GateStop::unconfirmed, GateVerdict::undecided);
        if (!run(who)) return;
      }
      const std::size_t before = ratios_.size();
      while (ratios_.size() - before < pairs && seconds_left_() > rest)
        if (!pair(random)) return;
      if (ratios_.size() - before < std::min(pairs, kLeastPairsAgain)) return conclude(GateStop::unconfirmed, GateVerdict::undecided);
      state_.again.push_back(median_interval(std::span(ratios_).subspan(before)).median);
      conclude(GateStop::pairs);
      if (state_.verdict == GateVerdict::faster && state_.again.back() < 1) continue;
      return conclude(GateStop::place, state_.high <= 1 + options_.margin ? GateVerdict::equal : GateVerdict::undecided);
    }
  }

  // Finds how many runs make a sample.
  bool warm_up() {
    double least = 0;
    for (int k = 0; k < options_.warm_ups; ++k) {
      for (std::size_t who = 0; who < 2; ++who) {
        if (seconds_left_() <= 0) {
          conclude(GateStop::time);
          return false;
        }
        const auto time = run(who);
        if (!time) return false;
        if (who == 0 && (k == 0 || time->value < least)) least = time->value;
      }
    }
    const double repeats = std::ceil(options_.sample.value / std::max(least, 1.0));
    state_.repeats = static_cast<int>(std::clamp(repeats, 1.0, static_cast<double>(kMostRepeats)));
    return true;
  }

  bool pair(std::mt19937_64& random) {
    const std::size_t first = (random() >> 63U) & 1U;
    std::array<double, 2> times{};
    for (const std::size_t who : {first, 1 - first}) {
      const auto time = run(who);
      if (!time) return false;
      times[who] = std::max(time->value, 1e-3);
    }
    ++state_.pairs;
    if (times[1] < times[0]) ++state_.faster;
    if (times[1] > times[0]) ++state_.slower;
    for (std::size_t who = 0; who < 2; ++who) times_[who].push_back(times[who]);
    ratios_.push_back(times[1] / times[0]);
    if (options_.progress) options_.progress();
    return true;
  }

  std::optional<Nanoseconds> run(std::size_t who) {
    auto time = executor_.run(programs_[who], state_.sizes, state_.repeats);
    if (time) return *time;
    conclude(GateStop::failure, GateVerdict::failed);
    state_.failure = fmt::format("{}: {}", who == 0 ? "original" : "candidate", time.error().text());
    return std::nullopt;
  }

  void conclude(GateStop stop, GateVerdict verdict) {
    conclude(stop);
    state_.stop = stop;
    state_.verdict = verdict;
  }

  // What the pairs say so far. Equal times say nothing, as in every sign test.
  void conclude(GateStop stop) {
    state_.stop = stop;
    const MedianInterval interval = median_interval(ratios_);
    if (state_.pairs == 0) return;
    state_.ratio = interval.median;
    state_.low = interval.low;
    state_.high = interval.high;
    state_.original = {median_interval(times_[0]).median};
    state_.candidate = {median_interval(times_[1]).median};
    const std::size_t decided = state_.faster + state_.slower;
    state_.chance = sign_test(state_.faster, decided);
    if (state_.pairs < options_.least_pairs) return;
    const double look_level = level_ / static_cast<double>(options_.looks);
    if (state_.chance <= look_level && state_.ratio < 1) {
      state_.verdict = GateVerdict::faster;
    } else if (sign_test(state_.slower, decided) <= look_level && state_.ratio > 1) {
      state_.verdict = GateVerdict::slower;
    } else {
      state_.verdict = state_.high <= 1 + options_.margin ? GateVerdict::equal : GateVerdict::undecided;
      return;
    }
    if (stop == GateStop::pairs) state_.stop = GateStop::decided;
  }

  Executor& executor_;
  std::array<ProgramId, 2> programs_;
  const GateOptions& options_;
  double level_;
  std::function<double()> seconds_left_;
  GateComparison state_;
  std::array<std::vector<double>, 2> times_;
  std::vector<double> ratios_;
};

std::string numbers(const GateComparison& c) {
  return fmt::format("{:.3f} of the original's time [{:.3f}, {:.3f}] in {} pairs", c.ratio, c.low, c.high, c.pairs);
}

std::string reason_against(const GateComparison& c, std::size_t choices, const GateOptions& options) {
  std::string place;
  if (choices > 1) place = c.sizes < options.sizes.size() ? " at " + options.sizes[c.sizes] : fmt::format(" at sizes {}", c.sizes + 1);
  if (c.stop == GateStop::place)
    return fmt::format("it is faster only as it was set up first{}: {}; set up anew {:.3f}", place, numbers(c), fmt::join(c.again, ", "));
  if (c.stop == GateStop::unconfirmed)
    return fmt::format("the budget of {:g} s was used up before both could be set up anew{}: {}", options.max_seconds, place, numbers(c));
  switch (c.verdict) {
    case GateVerdict::failed:
      return fmt::format("it could not be run{}: {}", place, c.failure);
    case GateVerdict::slower:
      return fmt::format("it is slower{}: {}", place, numbers(c));
    case GateVerdict::undecided:
      if (c.pairs < options.least_pairs)
        return fmt::format("the budget of {:g} s was used up after {} of {} pairs{}", options.max_seconds, c.pairs, options.least_pairs,
                           place);
      return fmt::format("it may be slower{}: {}", place, numbers(c));
    default:
      return fmt::format("it is not faster{}: {}", place, numbers(c));
  }
}

}  // namespace

std::string_view name(GateVerdict verdict) {
  constexpr std::array<std::string_view, 5> names = {"faster", "equal", "slower", "undecided", "failed"};
  return names[static_cast<std::size_t>(verdict)];
}

std::string_view name(GateStop stop) {
  constexpr std::array<std::string_view, 6> names = {"decided by the sign test",
                                                     "it was not faster when both had been set up anew",
                                                     "all pairs were run",
                                                     "the budget of time was used up",
                                                     "the budget of time was used up before both could be set up anew",
                                                     "failure"};
  return names[static_cast<std::size_t>(stop)];
}

GateResult gate(Executor& executor, ProgramId original, ProgramId candidate, std::size_t choices, const GateOptions& options) {
  const std::function<double()> clock = options.clock ? options.clock : wall_seconds;
  const double start = clock();
  GateResult result;
  std::mt19937_64 random(options.seed);
  bool faster = false;
  for (std::size_t sizes = 0; sizes < choices; ++sizes) {
    const double left = options.max_seconds - options.used_seconds - (clock() - start);
    const double end = clock() + left / static_cast<double>(choices - sizes);
    Duel duel(executor, {original, candidate}, options, options.level / static_cast<double>(choices), [&] { return end - clock(); });
    result.comparisons.push_back(duel.fight(sizes, random));
    const GateComparison& comparison = result.comparisons.back();
    faster = faster || comparison.verdict == GateVerdict::faster;
    if (comparison.verdict != GateVerdict::faster && comparison.verdict != GateVerdict::equal) {
      result.reason = reason_against(comparison, choices, options);
      break;
    }
  }
  result.passed = faster && result.reason.empty();
  if (!result.passed && result.reason.empty())
    result.reason =
        result.comparisons.empty() ? "there was nothing to run it on" : reason_against(result.comparisons.back(), choices, options);
  result.seconds = clock() - start;
  return result;
}

}  // namespace xflow::cost
