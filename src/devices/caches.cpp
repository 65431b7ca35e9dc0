#include "src/devices/caches.h"

#include <fmt/format.h>

#include "src/devices/cpu/footprint.h"

namespace xflow::api {

Result<std::optional<std::size_t>> caches_of(const OptimizeOptions& options) {
  if (options.caches == "auto") return std::optional<std::size_t>();
  for (const std::size_t between : cost::cpu::kBetween)
    if (options.caches == cost::cpu::caches_name(between)) return std::optional(between);
  return fail(ErrorCode::invalid_argument, fmt::format("caches must be auto, warm, 4MiB, 16MiB or 64MiB, found '{}'", options.caches));
}

}  // namespace xflow::api
