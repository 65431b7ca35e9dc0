// The graphs that a search found, judged one after the other.
#pragma once

#include <xflow/optimize.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/optimizer/problem.h"
#include "src/search/search.h"
#include "src/support/acceptance.h"

namespace xflow::api {

// All graphs of an outcome, the best first.
std::vector<search::Finalist> finalists(search::Outcome outcome);

// Lets `judge` run the finalists one after the other, until one is accepted. Another one follows only where the first was run and not found
// faster, and while there is time for measuring. `judge` fills in the report. Gives the number of the one to ship, to which the report then
// belongs; nothing, with why not the first in `against`, and the report of the first, if there is none.
std::optional<std::size_t> judge_in_turn(const Problem& problem, const RunInputs& runs, std::span<const search::Finalist> finalists,
                                         const OptimizeOptions& options, const std::function<Acceptance(std::size_t)>& judge,
                                         std::string& against, OptimizeReport& report);

}  // namespace xflow::api
