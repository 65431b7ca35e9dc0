// What the rewritten parts of a graph gain, and how sure that is.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "src/cost/cost_model.h"
#include "src/optimizer/problem.h"
#include "src/search/search.h"
#include "xflow/report.h"

namespace xflow::api {

// The gains of a finalist of a search from `original`, the surest first. A part consists of kernels in which
// the covers of both graphs differ; two kernels are in one part if rewritten nodes lead from one to the
// other, or if they compute equal values. A node whose operands were rewritten, and nothing else of it, is
// no rewritten node. Parts whose kernels cannot all be timed are left out. `costs` are those of the search,
// and `device` is theirs.
std::vector<PartGain> gains_of(cost::CostModel& costs, const cost::Device& device, const ir::Arena& arena, const ir::Graph& original,
                               const search::Finalist& found);

// The numbers of the steps at parts whose gain is positive with a smaller probability than `confidence`,
// each once and in their order. Adds them to `unsure`.
std::vector<std::size_t> unsure_steps(std::span<const PartGain> gains, std::span<const search::Step> steps, double confidence,
                                      const Problem& problem, std::vector<UnsureRewrite>& unsure);
// Why the original is kept: "no gain was found that is positive with a probability of 90 %".
std::string no_sure_gain(double confidence);

}  // namespace xflow::api
