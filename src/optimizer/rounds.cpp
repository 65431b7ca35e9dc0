#include "src/optimizer/rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "src/optimizer/engine.h"

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

void add_run(OptimizeReport::EndToEnd& run, const OptimizeReport::EndToEnd& later, const std::string& against) {
  run.seconds += later.seconds;
  if (!later.run) return;
  if (!against.empty()) {
    run.others.push_back("another search on the result, against the result: " + against);
    return;
  }
  for (const OptimizeReport::EndToEnd::Comparison& c : later.comparisons)
    run.later.push_back(
        fmt::format("{:.3f} of the time of the result before [{:.3f}, {:.3f}] in {} pairs", c.ratio, c.low, c.high, c.pairs));
}

std::optional<OptimizeOptions> options_of_next_round(const OptimizeOptions& options, const OptimizeReport& report) {
  OptimizeOptions next = options;
  const auto after = static_cast<double>(report.constant_bytes_after);
  if (after > 0) {
    const double most = static_cast<double>(report.constant_bytes_before) * (1 + options.max_growth);
    next.max_growth = std::max(0.0, most / after - 1);
  }
  next.max_measure_seconds -= report.end_to_end.seconds;
  if (report.end_to_end.run && next.max_measure_seconds <= 0) return std::nullopt;
  if (!next.max_states && !next.max_seconds) next.max_seconds = kDefaultSeconds;
  if (!next.max_seconds) return next;
  // Timing kernels does not count (see improve), nor does running whole models, which has a budget of its own.
  *next.max_seconds -= report.seconds - report.kernels.seconds - report.end_to_end.seconds;
  if (*next.max_seconds <= 0) return std::nullopt;
  return next;
}

void add_search(OptimizeReport& report, OptimizeReport round) {
  report.states += round.states;
  report.expanded += round.expanded;
  report.seconds += round.seconds;
  add_kernels(report.kernels, round.kernels);
  append(report.withdrawn, std::move(round.withdrawn));
  if (!round.improved) return;
  append(report.steps, std::move(round.steps));
  append(report.regions, std::move(round.regions));
  add_rules(report.rules, round.rules);
}

void add_round(OptimizeReport& report, OptimizeReport round) {
  report.stop_reason = round.stop_reason;
  add_run(report.end_to_end, round.end_to_end, round.improved ? "" : round.reason);
  if (round.improved) {
    report.after_nanoseconds = round.after_nanoseconds;
    report.constant_bytes_after = round.constant_bytes_after;
    report.nodes_after = round.nodes_after;
    report.nodes_merged += round.nodes_merged;
  }
  add_search(report, std::move(round));
}

}  // namespace xflow::api
