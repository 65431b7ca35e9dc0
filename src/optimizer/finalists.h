// Judges the graphs that a search found, one after the other.
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

// The graphs of an outcome, best first.
std::vector<search::Finalist> finalists(search::Outcome outcome);

// Calls `judge` for the finalists in order until one is accepted. Later finalists are tried only if the
// first was run and not found faster, and while measuring time is left. `judge` fills in the report. Returns
// the index of the finalist to ship; the report then describes that finalist. If none is accepted, returns
// nothing, `against` says why the first was refused, and the report describes the first.
std::optional<std::size_t> judge_in_turn(const Problem& problem, const RunInputs& runs, std::span<const search::Finalist> finalists,
                                         const OptimizeOptions& options, const std::function<Acceptance(std::size_t)>& judge,
                                         std::string& against, OptimizeReport& report);

}  // namespace xflow::api
