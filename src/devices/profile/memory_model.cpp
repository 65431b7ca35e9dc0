#include "src/devices/profile/memory_model.h"

#include <cmath>

#include "src/devices/profile/features.h"

namespace xflow::cost::profile {
namespace {

struct MemoryShare {
  double memory = 1;  // inverse share of the bandwidth
  double norm = 1;    // p
};
// bench/profiles/fit_memory.py --coefficients prints these.
constexpr MemoryShare kPointwise{1.3, 1.49};
constexpr MemoryShare kSoftmax{1.59, 1.12};
constexpr MemoryShare kNormalization{1.91, 1.08};

std::optional<MemoryShare> coefficients_of(const ops::KernelSpec& spec) {
  if (is_pointwise(spec)) return kPointwise;
  if (spec.is(ops::KernelFamily::softmax)) return kSoftmax;
  if (spec.is(ops::KernelFamily::layer_normalization) || spec.is(ops::KernelFamily::rms_normalization)) return kNormalization;
  return std::nullopt;
}

}  // namespace

std::optional<Nanoseconds> memory_bound_time(const Roofline& roofline, const ops::KernelSpec& spec) {
  constexpr double kNanoseconds = 1e9;
  const auto coefficients = coefficients_of(spec);
  if (!coefficients || !roofline.given() || roofline.multiprocessors <= 0) return std::nullopt;
  const double moved = kNanoseconds * coefficients->memory * features_of(spec).bytes / roofline.bandwidth;
  const double launch = roofline.launch.count();
  return Nanoseconds{std::pow(std::pow(launch, coefficients->norm) + std::pow(moved, coefficients->norm), 1 / coefficients->norm)};
}

}  // namespace xflow::cost::profile
