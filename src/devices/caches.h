// What the caches hold when a kernel is timed, as the options say it.
#pragma once

#include <xflow/device.h>

#include <cstddef>
#include <optional>

namespace xflow::api {

// Bytes that a run goes through between two launches of a kernel: 0 where caches are warm; nothing for automatic.
std::optional<std::size_t> caches_of(const DeviceOptions& options);
// The state of one of cost::cpu::kBetween.
CacheState cache_state(std::size_t between);

}  // namespace xflow::api
