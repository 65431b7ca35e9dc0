#include "src/policy/shipped_policies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace xflow::policy {
namespace {

struct ShippedFile {
  std::string_view name;
  std::size_t size = 0;                       // bytes
  std::span<const std::uint64_t> words = {};  // the first byte of a word is its highest
};

#include "shipped_policies.inc"

}  // namespace

std::optional<Result<std::string>> shipped_policy(std::string_view path) {
  if (!path.starts_with(kShippedPolicy)) return std::nullopt;
  const std::string_view name = path.substr(kShippedPolicy.size());
  std::vector<std::string_view> names;
  for (const ShippedFile& file : kShippedFiles) {
    names.push_back(file.name);
    if (file.name != name) continue;
    constexpr int kByteBits = 8;
    std::string bytes;
    bytes.reserve(file.size);
    for (std::size_t k = 0; k < file.size; ++k) {
      const auto shift = kByteBits * (sizeof(std::uint64_t) - 1 - k % sizeof(std::uint64_t));
      bytes.push_back(static_cast<char>(file.words[k / sizeof(std::uint64_t)] >> shift));
    }
    return bytes;
  }
  return fail(ErrorCode::invalid_argument, fmt::format("there is no shipped policy '{}'; there are {}", name, fmt::join(names, ", ")));
}

}  // namespace xflow::policy
