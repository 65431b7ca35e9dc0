// What a search says in the report.
#pragma once

#include <xflow/optimize.h>
#include <xflow/report.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/cost/cost_model.h"
#include "src/kernels/device.h"
#include "src/optimizer/run.h"
#include "src/rules/verified_rules.h"
#include "src/search/search.h"

namespace xflow::api {

// Errors: invalid_argument for an option that is out of its range.
Result<void> check_options(const OptimizeOptions& options);
// The used fraction of the budget that is closest to its end. Without a budget the default is one of time.
double used_of_budget(const SearchOptions& budget, std::uint64_t states, double seconds);
// "cpu: Intel(R) ..., 1 thread, oneDNN 2.6.3".
std::string device_text(const cost::DeviceInfo& info);
// Whether a bound is looked for (SearchOptions::gap).
bool looks_for_gap(const SearchOptions& options, const cost::Device& device);
// The gap of a search that ended with this bound.
GapReport gap_of(const SearchOptions& options, const cost::Device& device, const std::optional<search::LowerBound>& bound);

// The options of a search that those of the caller alone decide.
search::Options options_of(const SearchOptions& given);
// Adds the time of a stage to that of searches, timing kernels included, or of checks.
void add_time(Stage stage, Seconds time, OptimizeReport& report);
// The times, constants and counts of a search.
void list_search(const search::Outcome& outcome, OptimizeReport& report);

std::vector<RuleCount> counts_of(const std::map<std::string, search::RuleCount>& counts, const rules::VerifiedRules& rules);

KernelReport kernels_of(const cost::CostStatistics& kernels, const cost::Device& device);

}  // namespace xflow::api
