// Parses bounds of growth.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <string_view>

namespace xflow::cli {

// A bound of growth: the larger of both.
struct Growth {
  double share = 0;  // of the size before
  std::uint64_t bytes = 0;
};

// Parses "5%", "0.05", "64KiB", or two of them with a comma; what is not named is 0. Error::invalid_argument
// for other text.
Result<Growth> read_growth(std::string_view text);

}  // namespace xflow::cli
