// Parses durations.
#pragma once

#include <xflow/time.h>

#include <optional>
#include <string_view>

namespace xflow::cli {

// Parses a nonnegative duration: "30s", "500ms" or "2m". Nothing for other text.
std::optional<Seconds> read_duration(std::string_view text);

}  // namespace xflow::cli
