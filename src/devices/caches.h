// What the caches hold when a kernel is timed, as the options name it.
#pragma once

#include <xflow/error.h>
#include <xflow/optimize.h>

#include <cstddef>
#include <optional>

namespace xflow::api {

// Bytes that a run goes through between two launches of a kernel: 0 for "warm"; nothing for "auto". Error::invalid_argument for other
// names.
Result<std::optional<std::size_t>> caches_of(const OptimizeOptions& options);

}  // namespace xflow::api
