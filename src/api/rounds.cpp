#include "src/api/rounds.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "src/api/engine.h"

namespace xflow::api {
namespace {

template <typename T>
void append(std::vector<T>& list, std::vector<T> more) {
  list.insert(list.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

void add_rules(std::vector<OptimizeReport::RuleCount>& rules, const std::vector<OptimizeReport::RuleCount>& more) {
  for (const OptimizeReport::RuleCount& count : more) {
    const auto known = std::ranges::find(rules, count.rule, &OptimizeReport::RuleCount::rule);
    if (known == rules.end()) {
      rules.push_back(count);
      continue;
    }
    known->matched += count.matched;
    known->improved += count.improved;
    known->applied += count.applied;
  }
}

void add_kernels(OptimizeReport::Kernels& kernels, const OptimizeReport::Kernels& more) {
  kernels.measured += more.measured;
  kernels.again += more.again;
  kernels.seconds += more.seconds;
  kernels.samples += more.samples;
  kernels.outliers += more.outliers;
  kernels.recorded += more.recorded;
  kernels.modelled += more.modelled;
  kernels.refused += more.refused;
  kernels.failed += more.failed;
  if (kernels.failure.empty()) kernels.failure = more.failure;
  kernels.device_bytes = std::max(kernels.device_bytes, more.device_bytes);
}

}  // namespace

std::optional<OptimizeOptions> options_of_next_round(const OptimizeOptions& options, const OptimizeReport& report) {
  OptimizeOptions next = options;
  const auto after = static_cast<double>(report.constant_bytes_after);
  if (after > 0) {
    const double most = static_cast<double>(report.constant_bytes_before) * (1 + options.max_growth);
    next.max_growth = std::max(0.0, most / after - 1);
  }
  if (!next.max_states && !next.max_seconds) next.max_seconds = kDefaultSeconds;
  if (!next.max_seconds) return next;
  // Timing kernels does not count (see improve).
  *next.max_seconds -= report.seconds - report.kernels.seconds;
  if (*next.max_seconds <= 0) return std::nullopt;
  return next;
}

void add_round(OptimizeReport& report, OptimizeReport round) {
  report.states += round.states;
  report.expanded += round.expanded;
  report.seconds += round.seconds;
  report.stop_reason = std::move(round.stop_reason);
  add_kernels(report.kernels, round.kernels);
  append(report.withdrawn, std::move(round.withdrawn));
  if (!round.improved) return;
  append(report.steps, std::move(round.steps));
  append(report.regions, std::move(round.regions));
  add_rules(report.rules, round.rules);
  report.after_nanoseconds = round.after_nanoseconds;
  report.constant_bytes_after = round.constant_bytes_after;
  report.nodes_after = round.nodes_after;
  report.nodes_merged += round.nodes_merged;
}

}  // namespace xflow::api
