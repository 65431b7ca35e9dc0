#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "src/cli/processes/mpi_workers.h"

namespace xflow::cli {
namespace {

std::optional<std::size_t> number_in(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr) return std::nullopt;
  const std::string_view text = value;
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

MpiPlace mpi_place() {
  constexpr const char* kVariables[][2] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"}, {"PMI_SIZE", "PMI_RANK"}};
  for (const auto& [size, rank] : kVariables)
    if (const auto processes = number_in(size); processes && *processes > 1) return {*processes, number_in(rank).value_or(0)};
  return {};
}

}  // namespace xflow::cli
