// Converts between CacheState and the number of bytes that a run accesses between two launches of a kernel.
#pragma once

#include <xflow/device.h>

#include <cstddef>
#include <optional>

namespace xflow::api {

// The bytes accessed between two launches of a kernel: 0 for warm caches, nothing for CacheState::automatic.
std::optional<std::size_t> caches_of(const DeviceOptions& options);
// The state for an element of cost::cpu::kCacheFootprints.
CacheState cache_state(std::size_t footprint);

}  // namespace xflow::api
