#include "src/optimizer/finalists.h"

#include <algorithm>
#include <utility>

#include "src/optimizer/region_validation.h"

namespace xflow::api {

std::vector<search::Finalist> finalists(search::Outcome outcome) {
  std::vector<search::Finalist> all = std::move(outcome.others);
  all.insert(all.begin(), {std::move(outcome.best), std::move(outcome.correspondence), outcome.after, std::move(outcome.steps),
                           outcome.constant_bytes_after});
  return all;
}

std::optional<std::size_t> judge_in_turn(const Problem& problem, const RunInputs& runs, std::span<const search::Finalist> finalists,
                                         const OptimizeOptions& options, const std::function<Acceptance(std::size_t)>& judge,
                                         std::string& against, OptimizeReport& report) {
  const Acceptance best = judge(0);
  if (best) return 0;
  against = best.reason;
  const OptimizeReport first = report;
  GateReport& run = report.gate;
  if (!run.run || run.comparisons.empty() || run.comparisons.back().verdict == GateVerdict::failed) return std::nullopt;
  std::vector<std::string> others;
  const auto is_over = [&] { return problem.limits != nullptr && problem.limits->ends_gate(); };
  for (std::size_t k = 1; k < finalists.size() && run.time < options.validation.max_measure_time && !is_over(); ++k) {
    if (!agrees(problem, runs, finalists[k], report)) continue;
    Acceptance acceptance = judge(k);
    if (acceptance) {
      run.others = std::move(others);
      run.others.insert(run.others.begin(), against);
      report.predicted.after = finalists[k].after;
      report.constant_bytes.after = finalists[k].constant_bytes;
      for (RuleCount& count : report.search.rules) {
        const auto applied = std::ranges::count(finalists[k].steps, count.rule, &search::Step::rule);
        count.applied = static_cast<std::uint64_t>(applied);
      }
      return k;
    }
    others.push_back(std::move(acceptance.reason));
  }
  const Seconds time = run.time;
  report = first;
  run.others = std::move(others);
  run.time = time;
  return std::nullopt;
}

}  // namespace xflow::api
