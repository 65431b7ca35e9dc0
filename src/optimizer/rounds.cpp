#include "src/optimizer/rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "src/optimizer/kernel_changes.h"
#include "src/optimizer/replay.h"

namespace xflow::api {
namespace {

template <typename T>
void append(std::vector<T>& list, std::vector<T> more) {
  list.insert(list.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

void add_rules(std::vector<RuleCount>& rules, const std::vector<RuleCount>& more) {
  for (const RuleCount& count : more) {
    const auto known = std::ranges::find(rules, count.rule, &RuleCount::rule);
    if (known == rules.end()) {
      rules.push_back(count);
      continue;
    }
    known->matched += count.matched;
    known->improved += count.improved;
    known->applied += count.applied;
  }
}

void add_kernels(KernelReport& kernels, const KernelReport& more) {
  kernels.measured += more.measured;
  kernels.timed_again += more.timed_again;
  kernels.time += more.time;
  kernels.samples += more.samples;
  kernels.outliers += more.outliers;
  kernels.recorded += more.recorded;
  kernels.modelled += more.modelled;
  kernels.left_out += more.left_out;
  kernels.refused += more.refused;
  if (kernels.failed == 0) kernels.failure = more.failure;
  kernels.failed += more.failed;
  kernels.device_bytes = std::max(kernels.device_bytes, more.device_bytes);
}

}  // namespace

void add_run(GateReport& run, const GateReport& later, const Acceptance& acceptance) {
  run.time += later.time;
  if (!later.run) return;
  if (!acceptance) {
    run.others.push_back("another search on the result, against the result: " + acceptance.reason);
    return;
  }
  for (const GateComparison& c : later.comparisons)
    run.later.push_back(
        fmt::format("{:.3f} of the time of the result before [{:.3f}, {:.3f}] in {} pairs", c.ratio, c.low, c.high, c.pairs));
}

std::optional<OptimizeOptions> options_of_next_round(const OptimizeOptions& options, const OptimizeReport& report) {
  OptimizeOptions next = options;
  const auto after = static_cast<double>(report.constant_bytes.after);
  const auto before = static_cast<double>(report.constant_bytes.before);
  if (after > 0) next.search.max_growth = std::max(0.0, before * (1 + options.search.max_growth) / after - 1);
  const std::uint64_t most = report.constant_bytes.before + options.search.max_growth_bytes;
  next.search.max_growth_bytes = most > report.constant_bytes.after ? most - report.constant_bytes.after : 0;
  next.validation.max_measure_time -= report.gate.time;
  if (report.gate.run && next.validation.max_measure_time <= Seconds(0)) return std::nullopt;
  if (!next.search.max_states && !next.search.max_time) next.search.max_time = Seconds(kDefaultSeconds);
  if (!next.search.max_time) return next;
  // The budget excludes the time of timing kernels (see Optimization::search_seconds) and of running whole
  // models, which has its own budget.
  *next.search.max_time -= report.time - report.kernels.time - report.gate.time;
  if (*next.search.max_time <= Seconds(0)) return std::nullopt;
  return next;
}

void add_search(OptimizeReport& report, OptimizeReport round) {
  report.search.states += round.search.states;
  report.search.expanded += round.search.expanded;
  report.time += round.time;
  report.search.time += round.search.time;
  report.regions.time += round.regions.time;
  add_kernels(report.kernels, round.kernels);
  append(report.regions.withdrawn, std::move(round.regions.withdrawn));
  append(report.search.unsure, std::move(round.search.unsure));
  if (!round.improved) return;
  for (PartGain& gain : round.search.gains)
    for (std::size_t& step : gain.steps) step += report.search.steps.size();
  append(report.search.gains, std::move(round.search.gains));
  std::ranges::stable_sort(report.search.gains, std::ranges::greater(), &PartGain::sureness);
  add_trace(report.trace, std::move(round.trace));
  append(report.search.steps, std::move(round.search.steps));
  append(report.regions.checked, std::move(round.regions.checked));
  add_rules(report.search.rules, round.search.rules);
}

void add_round(OptimizeReport& report, OptimizeReport round) {
  report.search.stop_reason = round.search.stop_reason;
  add_run(report.gate, round.gate, round.improved ? accepted() : refused(round.reason));
  if (round.improved) {
    report.predicted.after = round.predicted.after;
    report.constant_bytes.after = round.constant_bytes.after;
    report.nodes.after = round.nodes.after;
    report.nodes.merged += round.nodes.merged;
    add_kernel_changes(report.kernel_changes, round.kernel_changes);
  }
  add_search(report, std::move(round));
}

}  // namespace xflow::api
