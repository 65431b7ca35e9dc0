// Parses sizes in bytes.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace xflow::cli {

// Parses a size: "64KiB", "500MB", "4GiB", "65536". Units are powers of 1,000 or of 1,024; without a unit
// the number is in bytes. Nothing for other text.
std::optional<std::uint64_t> size_of(std::string_view text);

// Parses a size of at least 1 MB: "500MB", "4GiB", "65536". Units are powers of 1,000 or of 1,024; without a
// unit the number is in bytes. Error::invalid_argument for other text.
Result<std::uint64_t> read_size(std::string_view text);

}  // namespace xflow::cli
