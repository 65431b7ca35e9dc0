#include "src/optimizer/search_report.h"

#include <string_view>

namespace xflow::api {

bool looks_for_gap(const SearchOptions& options, const cost::Device& device) { return options.gap.value_or(device.lookups().has_value()); }

GapReport gap_of(const SearchOptions& options, const cost::Device& device, const std::optional<search::LowerBound>& bound) {
  if (!looks_for_gap(options, device))
    return GapReport{options.gap ? "none was looked for" : "kernels would have to be measured for it (option 'gap')"};
  if (!bound) return GapReport{"the run ended before the parts were searched"};
  return GapReport{"", bound->time, bound->parts, bound->open_parts, bound->open_time, bound->states};
}

std::vector<RuleCount> counts_of(const std::map<std::string, search::RuleCount>& counts, const rules::VerifiedRules& rules) {
  std::map<std::string_view, const rules::Rule*> by_name;
  for (std::size_t k = 0; k < rules.size(); ++k) {
    const rules::Rule& rule = rules.rule(static_cast<rules::RuleId>(k));
    by_name.emplace(rule.name, &rule);
  }
  std::vector<RuleCount> reported;
  for (const auto& [name, count] : counts) {
    reported.push_back(RuleCount{name, count.matched, count.improved, count.applied});
    const auto rule = by_name.find(name);
    if (rule == by_name.end()) continue;  // a built-in simplification
    reported.back().float_class = rule->second->float_class;
    reported.back().float_effects = rule->second->number_effects;
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
  report.device_bytes = device.peak_bytes();
  return report;
}

}  // namespace xflow::api
