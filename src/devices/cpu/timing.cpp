#include "src/devices/cpu/timing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

namespace xflow::cost::cpu {
namespace {

Nanoseconds read(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return Nanoseconds(static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec));
}

// A sample counts as uninterrupted if its CPU time falls short of the wall clock by at most this share:
// reading two clocks takes a moment.
constexpr double kIdleShare = 0.1;
constexpr double kIdleLeast = 3e3;
constexpr int kMostLaunches = 10'000;
constexpr double kOutlier = 1.5;  // times the median

// Compiles to the same instructions in every build.
#if defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("O3"), noinline))
#endif
void multiply_and_add(std::array<float, 1024>& values) {
  for (float& value : values) value = value * 0.75F + 1.0F;
}

struct Sample {
  double time;  // of one launch
  bool whole;   // the thread was never interrupted
};

// The measurements of one function.
struct Timed {
  int launches = 1;  // per sample
  std::vector<KernelCost> rounds;
  std::vector<double> uninterrupted;  // samples of all rounds
  double total = 0;
  int repeats = 0;
  int samples = 0;

  bool is_stable(double spread) const {
    if (rounds.size() < 2) return false;
    std::array<double, 2> quickest = {rounds[0].median.count(), rounds[1].median.count()};
    if (quickest[1] < quickest[0]) std::swap(quickest[0], quickest[1]);
    for (std::size_t k = 2; k < rounds.size(); ++k) {
      const double median = rounds[k].median.count();
      if (median < quickest[0]) {
        quickest = {median, quickest[0]};
      } else {
        quickest[1] = std::min(quickest[1], median);
      }
    }
    return quickest[1] <= (1 + spread) * quickest[0];
  }
};

KernelCost summary(std::vector<Sample> samples) {
  if (std::ranges::any_of(samples, &Sample::whole)) std::erase_if(samples, [](const Sample& sample) { return !sample.whole; });
  std::ranges::sort(samples, {}, &Sample::time);
  KernelCost cost;
  cost.median = Nanoseconds(samples[samples.size() / 2].time);
  cost.spread = Nanoseconds(samples[samples.size() * 3 / 4].time - samples[samples.size() / 4].time);
  return cost;
}

}  // namespace

Clocks now() { return {read(CLOCK_THREAD_CPUTIME_ID), read(CLOCK_MONOTONIC)}; }

std::vector<KernelCost> time_interleaved(std::span<const std::function<void()>> functions, const TimingOptions& options, bool thread_time,
                                         const ClockReader& read) {
  const auto sample_of = [&](const std::function<void()>& run, int launches) {
    const Clocks begin = read();
    for (int k = 0; k < launches; ++k) run();
    const Clocks end = read();
    const double thread = (end.thread - begin.thread).count();
    const double wall = (end.wall - begin.wall).count();
    return Sample{(thread_time ? thread : wall) / launches, wall - thread <= kIdleShare * wall + kIdleLeast};
  };
  const auto is_stopped = [&] { return options.stop && options.stop(); };
  std::vector<Timed> timed(functions.size());
  for (std::size_t f = 0; f < functions.size(); ++f) {
    if (is_stopped()) return std::vector<KernelCost>(functions.size());
    functions[f]();
    // The second launch runs with warm code and data; its time determines the number of launches per sample.
    const double once = std::max(sample_of(functions[f], 1).time, 1.0);
    timed[f].launches = std::clamp(static_cast<int>(std::ceil(options.sample.count() / once)), 1, kMostLaunches);
  }
  const auto enough = [&](const Timed& function) { return function.is_stable(options.spread) || function.total > options.most.count(); };
  for (int round = 0; round < options.least_rounds || !std::ranges::all_of(timed, enough); ++round) {
    for (std::size_t f = 0; f < functions.size(); ++f) {
      Timed& function = timed[f];
      std::vector<Sample> samples;
      double total = 0;
      do {
        if (is_stopped()) return std::vector<KernelCost>(functions.size());
        samples.push_back(sample_of(functions[f], function.launches));
        total += samples.back().time * function.launches;
      } while (total < options.round.count() && static_cast<int>(samples.size()) < options.most_samples);
      function.total += total;
      function.repeats += static_cast<int>(samples.size()) * function.launches;
      function.samples += static_cast<int>(samples.size());
      for (const Sample& sample : samples)
        if (sample.whole) function.uninterrupted.push_back(sample.time);
      function.rounds.push_back(summary(std::move(samples)));
    }
  }
  std::vector<KernelCost> costs;
  for (const Timed& function : timed) {
    costs.push_back(*std::ranges::min_element(function.rounds, {}, &KernelCost::median));
    costs.back().repeats = function.repeats;
    const double usual = kOutlier * costs.back().median.count();
    const auto near = std::ranges::count_if(function.uninterrupted, [&](double time) { return time <= usual; });
    costs.back().samples = function.samples;
    costs.back().outliers = function.samples - static_cast<int>(near);
  }
  return costs;
}

// Machines and builds with equal text take equal time for the calibration kernel.
std::string calibration_name() {
#ifdef __SANITIZE_ADDRESS__
  return "arithmetic 1, " __VERSION__ ", sanitized";
#else
  return "arithmetic 1, " __VERSION__;
#endif
}

Nanoseconds calibration_time(bool thread_time) {
  std::array<float, 1024> values{};
  const auto clock = [&] { return thread_time ? now().thread : now().wall; };
  Nanoseconds least{1e18};
  for (int attempt = 0; attempt < 3; ++attempt) {
    const Nanoseconds start = clock();
    for (int pass = 0; pass < 20; ++pass) {
      multiply_and_add(values);
      // Keeps the compiler from removing a pass: it must assume that the values are read.
      asm volatile("" : : "r"(values.data()) : "memory");
    }
    least = std::min(least, clock() - start);
  }
  return least;
}

}  // namespace xflow::cost::cpu
