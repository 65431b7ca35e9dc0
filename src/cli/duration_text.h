// Durations as people write them.
#pragma once

#include <xflow/time.h>

#include <optional>
#include <string_view>

namespace xflow::cli {

// "30s", "500ms" or "2m", not negative; nothing for anything else.
std::optional<Seconds> read_duration(std::string_view text);

}  // namespace xflow::cli
