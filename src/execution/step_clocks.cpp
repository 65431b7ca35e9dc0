#include "src/execution/step_clocks.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>

#include "src/execution/median.h"

namespace xflow::execution {
namespace {

// The number of the clock of each process, in the order of their first processes.
std::vector<std::size_t> clock_numbers(std::span<const std::string> clocks) {
  std::vector<std::size_t> numbers;
  std::size_t known = 0;
  for (std::size_t k = 0; k < clocks.size(); ++k) {
    const auto same = clocks[k].empty() ? clocks.begin() + static_cast<std::ptrdiff_t>(k) : std::ranges::find(clocks, clocks[k]);
    const auto first = static_cast<std::size_t>(same - clocks.begin());
    numbers.push_back(first == k ? known++ : numbers[first]);
  }
  return numbers;
}

// The reading of each clock when its first process began a step.
std::vector<double> first_begins(std::span<const std::size_t> numbers, std::span<const double> begins) {
  std::vector<double> result(std::ranges::max(numbers) + 1, std::numeric_limits<double>::infinity());
  for (std::size_t k = 0; k < numbers.size(); ++k) result[numbers[k]] = std::min(result[numbers[k]], begins[k]);
  return result;
}

}  // namespace

std::string steady_clock_name() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::error_code error;
  const std::filesystem::path space = std::filesystem::read_symlink("/proc/self/ns/time", error);
  return boot.empty() ? "" : boot + " " + space.string();
}

std::vector<std::vector<double>> begins_of_steps(std::span<const std::string> clocks, std::span<const std::vector<double>> begins) {
  const std::vector<std::size_t> numbers = clock_numbers(clocks);
  // How much later than the first clock each clock reads the same moment, by [clock][step].
  std::vector<std::vector<double>> differences;
  for (const std::vector<double>& step : begins) {
    const std::vector<double> first = first_begins(numbers, step);
    differences.resize(first.size());
    for (std::size_t clock = 0; clock < first.size(); ++clock) differences[clock].push_back(first[clock] - first[0]);
  }
  std::vector<double> later(differences.size());
  std::ranges::transform(differences, later.begin(), [](const std::vector<double>& all) { return median_of(all); });
  std::vector<std::vector<double>> result;
  for (const std::vector<double>& step : begins) {
    std::vector<double> own(step.size());
    for (std::size_t k = 0; k < step.size(); ++k) own[k] = step[k] - later[numbers[k]];
    const double first = std::ranges::min(own);
    for (double& begin : own) begin -= first;
    result.push_back(std::move(own));
  }
  return result;
}

}  // namespace xflow::execution
