#include "src/cli/duration_text.h"

#include <charconv>
#include <system_error>

namespace xflow::cli {

std::optional<Seconds> read_duration(std::string_view text) {
  const auto unit = text.find_first_not_of("0123456789.");
  if (unit == std::string_view::npos) return std::nullopt;
  const std::string_view number = text.substr(0, unit);
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size() || value < 0) return std::nullopt;
  const std::string_view name = text.substr(unit);
  if (name == "s") return Seconds(value);
  if (name == "ms") return Seconds(value / 1000);
  if (name == "m") return Seconds(value * 60);
  return std::nullopt;
}

}  // namespace xflow::cli
