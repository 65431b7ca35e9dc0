// What a search says in the report.
#pragma once

#include <xflow/optimize.h>
#include <xflow/report.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/cost/cost_model.h"
#include "src/kernels/device.h"
#include "src/rules/verified_rules.h"
#include "src/search/search.h"

namespace xflow::api {

// Whether a bound is looked for (SearchOptions::gap).
bool looks_for_gap(const SearchOptions& options, const cost::Device& device);
// The gap of a search that ended with this bound.
GapReport gap_of(const SearchOptions& options, const cost::Device& device, const std::optional<search::LowerBound>& bound);

std::vector<RuleCount> counts_of(const std::map<std::string, search::RuleCount>& counts, const rules::VerifiedRules& rules);

KernelReport kernels_of(const cost::CostStatistics& kernels, const cost::Device& device);

}  // namespace xflow::api
