#include "src/devices/caches.h"

#include <algorithm>

#include "src/devices/cpu/footprint.h"

namespace xflow::api {

namespace {
// The states after it are in the order of kCacheFootprints.
constexpr auto kFirst = static_cast<std::size_t>(CacheState::warm);
}  // namespace

std::optional<std::size_t> caches_of(const DeviceOptions& options) {
  if (options.caches == CacheState::automatic) return std::nullopt;
  return cost::cpu::kCacheFootprints.at(static_cast<std::size_t>(options.caches) - kFirst);
}

CacheState cache_state(std::size_t footprint) {
  const auto found = std::ranges::find(cost::cpu::kCacheFootprints, footprint);
  return static_cast<CacheState>(kFirst + static_cast<std::size_t>(found - cost::cpu::kCacheFootprints.begin()));
}

}  // namespace xflow::api
