#include "src/cost/cpu/timing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <vector>

namespace xflow::cost::cpu {

Nanoseconds now(bool thread_time) {
  timespec time{};
  clock_gettime(thread_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return {static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec)};
}

KernelCost time_repeatedly(const std::function<void()>& run, const TimingOptions& options, bool thread_time) {
  run();
  // The second launch finds code and data in place: from it on the number of launches a sample is chosen.
  Nanoseconds start = now(thread_time);
  run();
  const double once = std::max((now(thread_time) - start).value, 1.0);
  const int launches = std::clamp(static_cast<int>(std::ceil(options.sample.value / once)), 1, 10'000);

  std::vector<double> samples;
  std::vector<double> sorted;
  KernelCost cost;
  const Nanoseconds begin = now(thread_time);
  while (static_cast<int>(samples.size()) < options.most_samples) {
    start = now(thread_time);
    for (int k = 0; k < launches; ++k) run();
    const Nanoseconds end = now(thread_time);
    samples.push_back((end - start).value / launches);
    const double total = (end - begin).value;
    const auto count = static_cast<int>(samples.size());
    if (count < options.least_samples) {
      // A kernel that takes long is not run many times: what disturbs a sample is a small share of it.
      if (count >= 3 && total > options.most.value / 2) break;
      continue;
    }
    if (total < options.least.value) continue;
    if (total > options.most.value) break;
    if (count % 4 != 0) continue;
    sorted = samples;
    std::ranges::sort(sorted);
    if (sorted[sorted.size() * 3 / 4] - sorted[sorted.size() / 4] <= options.spread * sorted[sorted.size() / 2]) break;
  }
  std::ranges::sort(samples);
  cost.median = {samples[samples.size() / 2]};
  cost.spread = {samples[samples.size() * 3 / 4] - samples[samples.size() / 4]};
  cost.repeats = static_cast<int>(samples.size()) * launches;
  return cost;
}

Nanoseconds control_time(bool thread_time) {
  std::array<float, 1024> values{};
  Nanoseconds least{1e18};
  for (int attempt = 0; attempt < 3; ++attempt) {
    const Nanoseconds start = now(thread_time);
    for (int pass = 0; pass < 20; ++pass) {
      for (float& value : values) value = value * 0.75F + 1.0F;
      // Each pass is done: the compiler must take it that the values are read.
      asm volatile("" : : "r"(values.data()) : "memory");
    }
    least = std::min(least, now(thread_time) - start);
  }
  return least;
}

}  // namespace xflow::cost::cpu
