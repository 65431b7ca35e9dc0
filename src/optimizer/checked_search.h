// A search whose result was executed against the original.
#pragma once

#include <xflow/optimize.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/optimizer/engine.h"
#include "src/search/search.h"

namespace xflow::api {

// "nothing cheaper was found before the search had to end (time limit)"
std::string nothing_found(search::StopReason stop);

using SearchFunction = std::function<search::Outcome(const search::Options&)>;

// Searches and executes what was rewritten against what it replaced (see check_regions). Where a region does not agree, the rewrites that
// made it are excluded at that place, later everywhere, and the search restarts. The outcome is one all of whose regions agree, with
// these in the report, or, without steps and with report.reason, the original. `checking` is called before regions are executed.
search::Outcome checked_search(const Problem& problem, const RunInputs& runs, const SearchFunction& search, const search::Options& options,
                               const std::function<void(const search::Outcome&)>& checking, OptimizeReport& report);

// All graphs of an outcome, the best first.
std::vector<search::Finalist> finalists(search::Outcome outcome);

// Lets `judge` run the finalists one after the other, until one is not kept back. Another one follows only where the first was run and not
// found faster, and while there is time for measuring. `judge` fills in the report and says why a finalist is kept back. Gives the number
// of the one to ship, to which the report then belongs; nothing, with why not the first in `against`, and the report of the first, if there
// is none.
std::optional<std::size_t> judge_in_turn(const Problem& problem, const RunInputs& runs, std::span<const search::Finalist> finalists,
                                         const OptimizeOptions& options, const std::function<std::string(std::size_t)>& judge,
                                         std::string& against, OptimizeReport& report);

// Executes another graph that was found against the original, and puts its regions in the place of those in the report if all agree. False
// if they do not, or could not be executed.
bool agrees(const Problem& problem, const RunInputs& runs, const search::Finalist& finalist, OptimizeReport& report);

}  // namespace xflow::api
