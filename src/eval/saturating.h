// Counts that saturate instead of overflowing. Private to src/eval.
#pragma once

#include <cstdint>

namespace xflow::eval {

inline constexpr std::uint64_t kSaturated = std::uint64_t{1} << 62;

inline std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b) { return b != 0 && a > kSaturated / b ? kSaturated : a * b; }

}  // namespace xflow::eval
