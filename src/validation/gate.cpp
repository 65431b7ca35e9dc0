#include "src/validation/gate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <random>
#include <span>

#include "src/runtime/median.h"
#include "src/validation/sign_test.h"

namespace xflow::cost {
namespace {

constexpr int kMostRepeats = 100'000;
constexpr std::size_t kLeastConfirmingPairs = 3;  // if time is short

double wall_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// The pairs measured by one clock.
class ByClock {
 public:
  void add(double original, double candidate) {
    if (candidate < original) ++times_.faster;
    if (candidate > original) ++times_.slower;
    originals_.push_back(original);
    candidates_.push_back(candidate);
    ratios_.push_back(candidate / original);
  }

  // Returns the statistics of the pairs so far. Equal times do not count, as in every sign test.
  const GateTimes& times() {
    const MedianInterval interval = median_interval(ratios_);
    times_.ratio = interval.median;
    times_.low = interval.low;
    times_.high = interval.high;
    times_.original = Nanoseconds(median_interval(originals_).median);
    times_.candidate = Nanoseconds(median_interval(candidates_).median);
    times_.p_value = sign_test(times_.faster, times_.faster + times_.slower);
    return times_;
  }

  // Call times() first.
  GateVerdict verdict(double level, double margin) const {
    if (times_.p_value <= level && times_.ratio < 1) return GateVerdict::faster;
    if (sign_test(times_.slower, times_.faster + times_.slower) <= level && times_.ratio > 1) return GateVerdict::slower;
    return is_as_fast(margin) ? GateVerdict::equal : GateVerdict::undecided;
  }
  bool is_as_fast(double margin) const { return times_.high <= 1 + margin; }

  // Ends a set-up whose first pair has index `first`.
  void end_setting(std::size_t first) { times_.confirmations.push_back(median_interval(std::span(ratios_).subspan(first)).median); }
  bool was_faster_each_time() const {
    return std::ranges::all_of(times_.confirmations, [](double ratio) { return ratio < 1; });
  }

 private:
  GateTimes times_;
  std::vector<double> originals_;
  std::vector<double> candidates_;
  std::vector<double> ratios_;
};

// Measures two programs at one choice of sizes.
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
      // A look that the budget brings forward is the last one.
      ++looks;
      if (state_.pairs < look) {
        return conclude(GateStop::time);
      }
      conclude(GateStop::pairs);
      if (state_.stop == GateStop::decided) return;
    }
  }

  // Measures both again in each further set-up: half as many pairs, or as many as the time allows.
  void confirm(std::mt19937_64& random) {
    const std::size_t pairs = (state_.pairs + 1) / 2;
    for (std::size_t k = 1; k < options_.settings; ++k) {
      executor_.renew();
      const double rest = seconds_left_() * static_cast<double>(options_.settings - 1 - k) / static_cast<double>(options_.settings - k);
      for (const std::size_t who : {k % 2, 1 - k % 2}) {
        if (seconds_left_() <= rest) return conclude(GateStop::unconfirmed, GateVerdict::undecided);
        if (!run(who)) return;
      }
      const std::size_t before = state_.pairs;
      while (state_.pairs - before < pairs && seconds_left_() > rest)
        if (!pair(random)) return;
      if (state_.pairs - before < std::min(pairs, kLeastConfirmingPairs)) return conclude(GateStop::unconfirmed, GateVerdict::undecided);
      for (ByClock& clock : clocks_) clock.end_setting(before);
      conclude(GateStop::pairs);
      if (state_.verdict == GateVerdict::faster && is_faster([](const ByClock& clock) { return clock.was_faster_each_time(); })) continue;
      const bool as_fast = std::ranges::all_of(clocks_, [&](const ByClock& clock) { return clock.is_as_fast(options_.margin); });
      return conclude(GateStop::not_reproduced, as_fast ? GateVerdict::equal : GateVerdict::undecided);
    }
  }

  // Determines the number of runs per sample and the available clocks.
  bool warm_up() {
    double least = 0;
    for (int k = 0; k < options_.warm_ups; ++k) {
      for (std::size_t who = 0; who < 2; ++who) {
        if (seconds_left_() <= 0) {
          conclude(GateStop::time);
          return false;
        }
        const auto times = run(who);
        if (!times) return false;
        if (who == 0 && (k == 0 || times->time.count() < least)) least = times->time.count();
        if (times->processor) clocks_.resize(2);
      }
    }
    const double sample = (executor_.clock() == Clock::wall_time ? options_.wall_sample : options_.sample).count();
    const double repeats = std::ceil(sample / std::max(least, 1.0));
    state_.repeats = static_cast<int>(std::clamp(repeats, 1.0, static_cast<double>(kMostRepeats)));
    return true;
  }

  bool pair(std::mt19937_64& random) {
    const std::size_t first = (random() >> 63U) & 1U;
    std::array<RunTimes, 2> times;
    for (const std::size_t who : {first, 1 - first}) {
      const auto one = run(who);
      if (!one) return false;
      times[who] = *one;
    }
    const auto positive = [](Nanoseconds time) { return std::max(time.count(), 1e-3); };
    clocks_[0].add(positive(times[0].time), positive(times[1].time));
    // A clock that fails once is not used.
    if (!times[0].processor || !times[1].processor) clocks_.resize(1);
    if (clocks_.size() == 2) clocks_[1].add(positive(*times[0].processor), positive(*times[1].processor));
    ++state_.pairs;
    if (options_.progress) options_.progress();
    return true;
  }

  std::optional<RunTimes> run(std::size_t who) {
    auto times = executor_.run(programs_[who], state_.sizes, state_.repeats);
    if (times) return *times;
    conclude(GateStop::failure, GateVerdict::failed);
    state_.failure = fmt::format("{}: {}", who == 0 ? "original" : "candidate", times.error().text());
    return std::nullopt;
  }

  void conclude(GateStop stop, GateVerdict verdict) {
    conclude(stop);
    state_.stop = stop;
    state_.verdict = verdict;
  }

  void conclude(GateStop stop) {
    state_.stop = stop;
    if (state_.pairs == 0) return;
    static_cast<GateTimes&>(state_) = clocks_[0].times();
    state_.processor.reset();
    if (clocks_.size() == 2) state_.processor = clocks_[1].times();
    if (state_.pairs < options_.least_pairs) return;
    const auto any_is = [&](GateVerdict verdict) {
      return std::ranges::any_of(clocks_, [&](const ByClock& c) { return of(c) == verdict; });
    };
    state_.verdict = GateVerdict::equal;
    for (const GateVerdict verdict : {GateVerdict::faster, GateVerdict::undecided, GateVerdict::slower})
      if (any_is(verdict)) state_.verdict = verdict;
    const bool is_decided = state_.verdict == GateVerdict::faster || state_.verdict == GateVerdict::slower;
    if (stop == GateStop::pairs && is_decided) state_.stop = GateStop::decided;
  }

  // Returns the verdict by one clock. The level is divided among the looks and the clocks.
  GateVerdict of(const ByClock& clock) const {
    return clock.verdict(level_ / static_cast<double>(options_.looks * clocks_.size()), options_.margin);
  }

  // Returns true if a clock finds the candidate faster and `holds` is true for that clock.
  bool is_faster(const std::function<bool(const ByClock&)>& holds) const {
    return std::ranges::any_of(clocks_, [&](const ByClock& clock) { return of(clock) == GateVerdict::faster && holds(clock); });
  }

  Executor& executor_;
  std::array<ProgramId, 2> programs_;
  const GateOptions& options_;
  double level_;
  std::function<double()> seconds_left_;
  GateComparison state_;
  std::vector<ByClock> clocks_ = std::vector<ByClock>(1);  // the clock of the executor, then processor time
};

std::string numbers(const GateComparison& c) {
  std::string text = fmt::format("{:.3f} of the original's time [{:.3f}, {:.3f}]", c.ratio, c.low, c.high);
  if (c.processor)
    text += fmt::format(" and {:.3f} of its processor time [{:.3f}, {:.3f}]", c.processor->ratio, c.processor->low, c.processor->high);
  return text + fmt::format(" in {} pairs", c.pairs);
}

std::string reason_against(const GateComparison& c, std::size_t choices, const GateOptions& options) {
  std::string place;
  if (choices > 1) place = c.sizes < options.sizes.size() ? " at " + options.sizes[c.sizes] : fmt::format(" at sizes {}", c.sizes + 1);
  if (c.stop == GateStop::not_reproduced) {
    std::string ratios = fmt::format("{:.3f}", fmt::join(c.confirmations, ", "));
    if (c.processor) ratios += fmt::format(", processor time {:.3f}", fmt::join(c.processor->confirmations, ", "));
    return fmt::format("it is faster in the first setup only{}: {}; in other setups {}", place, numbers(c), ratios);
  }
  if (c.stop == GateStop::unconfirmed)
    return fmt::format("the budget of {:g} s was used up before both could be set up again{}: {}", options.max_seconds, place, numbers(c));
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

GateResult gate(Executor& executor, ProgramId original, ProgramId candidate, std::size_t choices, const GateOptions& options) {
  const std::function<double()> clock = options.clock ? options.clock : wall_seconds;
  const double start = clock();
  GateResult result;
  std::mt19937_64 random(options.seed);
  bool faster = false;
  bool rejected = false;
  for (std::size_t sizes = 0; sizes < choices; ++sizes) {
    const double left = options.max_seconds - options.used_seconds - (clock() - start);
    const double end = clock() + left / static_cast<double>(choices - sizes);
    Duel duel(executor, {original, candidate}, options, options.level / static_cast<double>(choices),
              [&] { return options.stop && options.stop() ? 0 : end - clock(); });
    result.comparisons.push_back(duel.fight(sizes, random));
    const GateComparison& comparison = result.comparisons.back();
    faster = faster || comparison.verdict == GateVerdict::faster;
    rejected = comparison.verdict != GateVerdict::faster && comparison.verdict != GateVerdict::equal;
    if (rejected) break;
  }
  result.passed = faster && !rejected;
  if (!result.passed)
    result.reason =
        result.comparisons.empty() ? "there was nothing to run it on" : reason_against(result.comparisons.back(), choices, options);
  result.seconds = clock() - start;
  return result;
}

}  // namespace xflow::cost
