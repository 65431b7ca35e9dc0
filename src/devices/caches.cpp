#include "src/devices/caches.h"

#include <algorithm>

#include "src/devices/cpu/footprint.h"

namespace xflow::api {

namespace {
constexpr auto kFirst = static_cast<std::size_t>(CacheState::warm);  // the states after it are in the order of kBetween
}

std::optional<std::size_t> caches_of(const DeviceOptions& options) {
  if (options.caches == CacheState::automatic) return std::nullopt;
  return cost::cpu::kBetween.at(static_cast<std::size_t>(options.caches) - kFirst);
}

CacheState cache_state(std::size_t between) {
  const auto found = std::ranges::find(cost::cpu::kBetween, between);
  return static_cast<CacheState>(kFirst + static_cast<std::size_t>(found - cost::cpu::kBetween.begin()));
}

}  // namespace xflow::api
