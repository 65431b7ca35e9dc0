// Sizes in bytes as people write them.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <string_view>

namespace xflow::cli {

// "500MB", "4GiB", "65536": a number of bytes, powers of 1,000 or of 1,024, at least 1 MB. Error::invalid_argument for anything else.
Result<std::uint64_t> read_size(std::string_view text);

}  // namespace xflow::cli
