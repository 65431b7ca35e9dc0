#include "src/cli/growth_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "src/cli/size_text.h"

namespace xflow::cli {
namespace {

std::optional<double> share_of(std::string_view text) {
  const bool percent = !text.empty() && text.back() == '%';
  if (percent) text.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < 0) return std::nullopt;
  return percent ? value / 100 : value;
}

}  // namespace

Result<Growth> read_growth(std::string_view text) {
  Growth growth;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    if (const auto share = share_of(part)) {
      growth.share = *share;
    } else if (const auto bytes = size_of(part)) {
      growth.bytes = *bytes;
    } else {
      return fail(ErrorCode::invalid_argument, fmt::format("growth '{}' is not of the form 5%, 0.05, 64KiB or 5%,64KiB", text));
    }
    if (comma == std::string_view::npos) return growth;
    rest = rest.substr(comma + 1);
  }
}

}  // namespace xflow::cli
