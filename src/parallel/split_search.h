// The search of a plan that splits operators over devices: Markov chain Monte Carlo over the plans of
// operators (Jia, Zaharia and Aiken, Beyond Data and Model Parallelism for Deep Neural Networks, MLSys
// 2019).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/parallel/cluster.h"
#include "src/parallel/search_budget.h"
#include "src/parallel/split_model.h"
#include "src/parallel/split_plan.h"
#include "src/parallel/split_starts.h"
#include "src/parallel/split_workload.h"

namespace xflow::parallel {

// To draw and simulate a random plan of more takes seconds of the budget.
constexpr std::size_t kMostRandomParts = 4096;

struct FoundSplit {
  SplitPlan plan;
  double step = 0;                                     // seconds
  std::vector<std::pair<std::string, double>> starts;  // steps of the start plans
  std::size_t untried = 0;                             // pipelines that half of the time limit was too short for
  std::uint64_t proposals = 0;
  std::uint64_t accepted = 0;
  bool is_optimal = false;
  std::string best_start;  // the start plan, or the other plan, from which the best was found
};

struct SplitSearchOptions {
  StepKind kind = StepKind::inference;
  std::uint64_t seed = 1;
  double bound = 0;              // seconds: no plan has a shorter step. The search ends when its best plan has it
  bool has_random_start = true;  // where operators times devices are at most kMostRandomParts
  // Called once after a sixth of the time limit: a plan of another method to go on with, named like a start
  // plan, or nothing. What it takes counts.
  std::function<std::optional<NamedPlan>(const FoundSplit&)> other_plan = {};
  // Called after the start plans and then now and then: number of proposals, best step in seconds.
  std::function<void(std::uint64_t, double)> progress = {};
};

// The start plan `random`: SplitProposals::random_start with numbers of its own, so that proposals do not
// depend on it.
SplitPlan random_start(SplitModel& model, std::uint32_t devices, std::uint64_t seed);

// The best plan that is found within the budget, of which a proposal is a step. It is never worse than the
// start plans that are tried: all but pipelines after half of the time limit. A plan whose constants fit
// into the devices is better than one whose do not. Deterministic for a number of steps. A chain starts at a
// temperature of 0.3 % of its step, and ends at 0.003 %; each is twice as long as the one before of its
// kind. Chains of all proposals start at the best plan. Until 3,000 proposals were splits alone, such chains
// come by turns with others, which have only splits and start at the best plan of their own.
FoundSplit search_split(SplitModel& model, const DeviceCluster& cluster, const SplitSearchOptions& options, SearchBudget& budget);

}  // namespace xflow::parallel
