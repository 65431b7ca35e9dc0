#include "src/optimizer/shipping.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/devices/device_costs.h"
#include "src/devices/device_kind.h"
#include "src/kernels/device.h"

namespace xflow::api {

bool is_elsewhere(const OptimizeOptions& options) {
  if (runs_models(options.device)) return false;
  if (options.device.own != nullptr) return true;
  const DeviceKind* kind = find_device_kind(options.device.name);
  return kind != nullptr && !kind->runs_graphs;
}

std::string why_not_run(const OptimizeOptions& options, std::string_view what) {
  if (is_elsewhere(options)) return "nothing was run on the device: all times are predicted";
  return fmt::format("the whole {} was not timed (option 'gate' = false): its time is predicted", what);
}

double price_noise(const KernelReport& kernels) {
  constexpr double kInterference = 0.1;
  const std::uint64_t all = kernels.measured + kernels.known;
  return all == 0 ? cost::kPriceNoise
                  : cost::kPriceNoise + kInterference * static_cast<double>(kernels.provisional) / static_cast<double>(all);
}

Acceptance above_noise(const OptimizeReport& report, std::span<const Simplification> simplifications) {
  Nanoseconds before = report.predicted.before;
  for (const Simplification& each : simplifications) before += each.gain;
  const double gain = before > Nanoseconds(0) ? 1 - report.predicted.after / before : 0;
  const double noise = price_noise(report.kernels);
  if (gain >= noise) return accepted();
  return refused(fmt::format("the predicted gain of {:.2f} % is below the noise of the prices, {:.2f} %", 100 * gain, 100 * noise));
}

bool is_no_slower(const GateReport& run) {
  return run.run && !run.comparisons.empty() && std::ranges::all_of(run.comparisons, [](const auto& c) {
           return c.verdict == GateVerdict::faster || c.verdict == GateVerdict::equal;
         });
}

void keep_original(std::string reason, std::optional<Nanoseconds> predicted, OptimizeReport& report) {
  report.improved = false;
  report.reason = std::move(reason);
  report.predicted.after = predicted.value_or(report.predicted.before);
  report.constant_bytes.after = report.constant_bytes.before;
}

std::function<void()> running(const ProgressCallback& progress, const OptimizeOptions& options, const RunLimits& limits,
                              const OptimizeReport& report) {
  const Seconds budget = options.validation.max_measure_time;
  return [&progress, &limits, &report, budget, start = limits.seconds()] {
    if (!progress) return;
    const double fraction = budget > Seconds(0) ? std::min(1.0, (limits.seconds() - start) / budget.count()) : 1;
    progress(OptimizeProgress{Phase::running, fraction, report.search.states, report.predicted, Seconds(limits.seconds()),
                              Seconds(limits.seconds_left())});
  };
}

}  // namespace xflow::api
