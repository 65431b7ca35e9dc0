// Durations as people write them.
#pragma once

#include <optional>
#include <string_view>

namespace xflow::cli {

// Seconds of "30s", "500ms" or "2m", not negative; nothing for anything else.
std::optional<double> read_seconds(std::string_view text);

}  // namespace xflow::cli
