// A search whose result was executed against the original.
#pragma once

#include <xflow/optimize.h>

#include <functional>
#include <span>

#include "src/api/engine.h"
#include "src/search/search.h"

namespace xflow::api {

using SearchFunction = std::function<search::Outcome(const search::Options&)>;

// Searches and executes what was rewritten against what it replaced (see check_regions). Where a region does not agree, the rewrites that
// made it are excluded at that place, later everywhere, and the search begins anew. The outcome is one all of whose regions agree, with
// these in the report, or, without steps and with report.reason, the original. `checking` is called before regions are executed.
search::Outcome checked_search(const Problem& problem, const RunInputs& runs, const SearchFunction& search, const search::Options& options,
                               const std::function<void(const search::Outcome&)>& checking, OptimizeReport& report);

}  // namespace xflow::api
