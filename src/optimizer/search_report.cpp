#include "src/optimizer/search_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "src/optimizer/rounds.h"
#include "src/optimizer/rule_text.h"

namespace xflow::api {
namespace {

constexpr int kMostThreads = 1024;
constexpr std::size_t kMostBest = 200;

// The original and the improvements, thinned out evenly.
std::vector<BestGraph> best_over_time(const search::Outcome& outcome) {
  const std::size_t count = outcome.improvements.size();
  const std::size_t kept = std::min(count, kMostBest - 1);
  std::vector<BestGraph> best{{Seconds(0), 0, outcome.before}};
  for (std::size_t k = 1; k <= kept; ++k) {
    const search::BetterGraph& improvement = outcome.improvements[k * count / kept - 1];
    best.push_back({Seconds(improvement.seconds), improvement.states, improvement.time});
  }
  return best;
}

}  // namespace

double used_of_budget(const SearchOptions& budget, std::uint64_t states, double seconds) {
  double used = 0;
  if (budget.max_states) used = static_cast<double>(states) / static_cast<double>(std::max<std::uint64_t>(*budget.max_states, 1));
  if (budget.max_time || !budget.max_states) used = std::max(used, seconds / budget.max_time.value_or(Seconds(kDefaultSeconds)).count());
  return std::clamp(used, 0.0, 1.0);
}

std::string device_text(const cost::DeviceInfo& info) {
  return fmt::format("{}: {}, {} thread{}, {}", info.name, info.model, info.threads, info.threads == 1 ? "" : "s", info.library);
}

Result<void> check_options(const OptimizeOptions& options) {
  if (!(options.search.alpha >= 1)) return fail(ErrorCode::invalid_argument, "alpha must be at least 1");
  if (!(options.search.max_growth >= 0)) return fail(ErrorCode::invalid_argument, "max_growth must not be negative");
  if (const auto confidence = options.search.confidence; confidence && !(*confidence > 0.5 && *confidence < 1))
    return fail(ErrorCode::invalid_argument, fmt::format("confidence {} is not above 0.5 and below 1", *confidence));
  for (const int threads : {options.device.threads, options.search.threads})
    if (threads < 1 || threads > kMostThreads)
      return fail(ErrorCode::invalid_argument, fmt::format("{} threads are not in the range 1 to {}", threads, kMostThreads));
  return {};
}

bool looks_for_gap(const SearchOptions& options, const cost::Device& device) { return options.gap.value_or(device.lookups().has_value()); }

GapReport gap_of(const SearchOptions& options, const cost::Device& device, const std::optional<search::LowerBound>& bound) {
  if (!looks_for_gap(options, device))
    return GapReport{options.gap ? "none was looked for" : "kernels would have to be measured for it (option 'gap')"};
  if (!bound) return GapReport{"the run ended before the parts were searched"};
  return GapReport{"", bound->time, bound->parts, bound->open_parts, bound->open_time, bound->states};
}

search::Options options_of(const SearchOptions& given) {
  search::Options options;
  options.strategy = given.strategy;
  options.own_strategy = given.own_strategy.get();
  options.alpha = given.alpha;
  options.max_bytes = given.max_bytes;
  options.max_growth = given.max_growth;
  options.max_growth_bytes = given.max_growth_bytes;
  options.threads = static_cast<std::size_t>(given.threads);
  if (given.max_states) options.max_states = *given.max_states;
  if (given.max_time) options.max_seconds = given.max_time->count();
  if (!given.max_states && !given.max_time) options.max_seconds = kDefaultSeconds;
  return options;
}

void add_time(Stage stage, Seconds time, OptimizeReport& report) {
  if (stage == Stage::search || stage == Stage::remeasure) report.search.time += time;
  if (stage == Stage::validate) report.regions.time += time;
}

void list_search(const search::Outcome& outcome, OptimizeReport& report) {
  report.predicted = {outcome.before, outcome.after};
  report.search.states = outcome.states;
  report.search.expanded = outcome.expanded;
  report.search.stop_reason = outcome.stop;
  report.search.best = best_over_time(outcome);
  report.constant_bytes = {outcome.constant_bytes_before, outcome.constant_bytes_after};
}

std::vector<RuleCount> counts_of(const std::map<std::string, search::RuleCount>& counts, const rules::VerifiedRules& rules) {
  std::vector<RuleCount> reported;
  for (const auto& [name, count] : counts) {
    reported.push_back(RuleCount{name, count.matched, count.improved, count.applied});
    const rules::Rule* rule = rules.find(name);
    if (rule == nullptr) continue;  // a built-in simplification
    reported.back().float_class = rule->float_class;
    reported.back().float_effects = rule->number_effects;
    reported.back().equation = equation_of(*rule);
  }
  return reported;
}

KernelReport kernels_of(const cost::CostStatistics& kernels, const cost::Device& device) {
  if (const auto found = device.lookups()) return {.recorded = found->recorded, .modelled = found->modelled};
  KernelReport report = {kernels.measured,    kernels.known,       kernels.with_interference,
                         kernels.timed_again, kernels.provisional, Seconds(kernels.measured_seconds),
                         kernels.samples,     kernels.outliers};
  report.refused = kernels.refused;
  report.failed = kernels.failed;
  report.failure = kernels.failure;
  report.left_out = kernels.left_out;
  report.device_bytes = device.peak_bytes();
  return report;
}

}  // namespace xflow::api
