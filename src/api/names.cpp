// Parses the names of enumerators.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xflow/device.h>
#include <xflow/optimize.h>

#include <span>
#include <string_view>
#include <vector>

namespace xflow {
namespace {

template <typename Enum>
Result<Enum> parse(std::span<const Enum> all, std::string_view what, std::string_view text) {
  std::vector<std::string_view> names;
  for (const Enum one : all) {
    if (text == to_string(one)) return one;
    names.emplace_back(to_string(one));
  }
  return fail(ErrorCode::invalid_argument, fmt::format("{} '{}' is none of {}", what, text, fmt::join(names, ", ")));
}

}  // namespace

Result<CacheState> parse_cache_state(std::string_view text) {
  constexpr CacheState kAll[] = {CacheState::automatic, CacheState::warm, CacheState::after_4_mib, CacheState::after_16_mib,
                                 CacheState::after_64_mib};
  return parse<CacheState>(kAll, "caches", text);
}

Result<Numerics> parse_numerics(std::string_view text) {
  constexpr Numerics kAll[] = {Numerics::exact, Numerics::rounding, Numerics::any};
  return parse<Numerics>(kAll, "numerics", text);
}

Result<Strategy> parse_strategy(std::string_view text) {
  constexpr Strategy kAll[] = {Strategy::automatic, Strategy::backtracking, Strategy::partition, Strategy::egraph};
  return parse<Strategy>(kAll, "strategy", text);
}

}  // namespace xflow
