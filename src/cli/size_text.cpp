#include "src/cli/size_text.h"

#include <fmt/format.h>

#include <charconv>

namespace xflow::cli {

std::optional<std::uint64_t> size_of(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  struct Unit {
    std::string_view name;
    std::uint64_t bytes;
  };
  constexpr Unit kUnits[] = {{"", 1},
                             {"KB", 1000},
                             {"MB", 1000000},
                             {"GB", 1000000000},
                             {"KiB", std::uint64_t{1} << 10},
                             {"MiB", std::uint64_t{1} << 20},
                             {"GiB", std::uint64_t{1} << 30}};
  for (const Unit& u : kUnits) {
    if (error == std::errc() && unit == u.name && value <= UINT64_MAX / u.bytes) return value * u.bytes;
  }
  return std::nullopt;
}

Result<std::uint64_t> read_size(std::string_view text) {
  constexpr std::uint64_t kLeast = 1000000;
  if (const auto size = size_of(text); size && *size >= kLeast) return *size;
  return fail(ErrorCode::invalid_argument, fmt::format("memory '{}' is not of the form 500MB or 4GiB, at least 1MB", text));
}

}  // namespace xflow::cli
