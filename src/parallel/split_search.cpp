#include "src/parallel/split_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "src/parallel/random_numbers.h"
#include "src/parallel/split_clock.h"
#include "src/parallel/split_lists.h"
#include "src/parallel/split_proposals.h"

namespace xflow::parallel {
namespace {

class SplitSearch {
 public:
  SplitSearch(SplitModel& model, const DeviceCluster& cluster, const SplitSearchOptions& options, SearchBudget& budget)
      : model_(model),
        cluster_(cluster),
        options_(options),
        budget_(budget),
        clock_(model, cluster, options.kind),
        random_(options.seed),
        seconds_(whole_seconds(model, cluster.size(), options.kind)),
        splits_{SplitProposals(model, cluster.size(), random_, least_seconds(seconds_))},
        all_{SplitProposals(model, cluster.size(), random_, least_seconds(seconds_), operator_groups(model, seconds_))} {}

  FoundSplit run() {
    std::vector<NamedPlan> starts = start_plans(model_, cluster_.size(), StepKind::inference);
    if (cluster_.size() > 1)
      for (const ListMethod method : {ListMethod::heft, ListMethod::earliest, ListMethod::filled})
        starts.push_back({name(method), list_plan(model_, cluster_, method)});
    const bool is_small = cluster_.size() * model_.operators().size() <= kMostRandomParts;
    if (cluster_.size() > 1 && options_.has_random_start && is_small)
      starts.push_back({"random", random_start(model_, cluster_.size(), options_.seed)});
    for (NamedPlan& start : starts) take(std::move(start));
    try_pipelines();
    report();
    if (cluster_.size() > 1 && !all_.proposals.empty()) improve();
    found_.is_optimal = is_optimal();
    return std::move(found_);
  }

 private:
  void take(NamedPlan start) {
    const PlanCost own = *clock_.cost(start.plan);
    found_.starts.emplace_back(start.name, own.step);
    if (!found_.plan.empty() && !(own < best_)) return;
    best_ = own;
    found_.step = own.step;
    found_.plan = std::move(start.plan);
    found_.best_start = start.name;
  }
  // Many devices have many of them, whose micro-batches make steps long.
  void try_pipelines() {
    if (options_.kind == StepKind::inference || cluster_.size() == 1) return;
    constexpr double kShareOfStarts = 0.5;
    for (auto& [name, policy] : pipeline_policies(model_, cluster_.size())) {
      if (found_.untried > 0 || budget_.is_past(kShareOfStarts)) {
        ++found_.untried;
      } else {
        take({std::move(name), grid_plan(model_, cluster_.size(), policy)});
      }
    }
  }

  bool is_optimal() const {
    constexpr double kCloseToBound = 1 + 1e-9;  // both are sums of rounded numbers
    return best_.missing == 0 && best_.step <= options_.bound * kCloseToBound;
  }
  void report() const {
    if (options_.progress) options_.progress(found_.proposals, found_.step);
  }

  // A plan that is improved, and how.
  struct Lineage {
    SplitProposals proposals;
    SplitPlan plan = {};  // the best one
    PlanCost cost = {};
    std::uint64_t length = 256;  // of the next chain
    std::uint64_t spent = 0;     // proposals
  };

  // Moves of groups gain much at first, and some of the plans that they lead to are far from those that
  // divide small operators. So splits have a plan of their own for a while, by turns with chains of all
  // proposals, each of which begins at the best plan.
  void improve() {
    constexpr std::uint64_t kSplitsAlone = 3000;
    splits_.plan = found_.plan;
    splits_.cost = best_;
    for (bool goes_on = true; goes_on && !is_optimal();) {
      const bool is_alone = !splits_.proposals.empty() && splits_.spent < kSplitsAlone && splits_.spent <= all_.spent;
      if (!is_alone) {
        all_.plan = found_.plan;
        all_.cost = best_;
      }
      goes_on = chain(is_alone ? splits_ : all_);
      if (is_time_for_other()) try_other();
    }
  }

  bool is_time_for_other() const {
    constexpr double kShareOfSplits = 1.0 / 6;
    return options_.other_plan && !has_asked_ && budget_.is_past(kShareOfSplits);
  }
  void try_other() {
    has_asked_ = true;
    if (std::optional<NamedPlan> plan = options_.other_plan(found_)) take(std::move(*plan));
    report();
  }

  // False once the budget is spent, or if the best plan meets the bound.
  bool chain(Lineage& lineage) {
    constexpr double kHottest = 3e-3;
    constexpr double kColdest = 3e-5;
    const std::uint64_t length = std::exchange(lineage.length, 2 * lineage.length);
    SplitPlan now = lineage.plan;
    PlanCost own = *clock_.cost(now);
    clock_.keep();
    for (std::uint64_t k = 0; k < length; ++k) {
      if (is_time_for_other()) return true;
      if (!budget_.spend()) return false;
      ++lineage.spent;
      constexpr std::uint64_t kPerReport = 256;
      if (++found_.proposals % kPerReport == 0) report();
      const double temperature =
          lineage.cost.step * kHottest * std::pow(kColdest / kHottest, static_cast<double>(k) / static_cast<double>(length));
      const PlanCost limit{own.missing, own.step - temperature * std::log(random_.unit())};
      SplitPlan proposal = now;
      if (!lineage.proposals.propose(proposal) || proposal == now) continue;
      const auto next = clock_.cost(proposal, limit);
      lineage.proposals.learn(next && next->missing == own.missing ? own.step - next->step : 0);
      if (!next) continue;
      ++found_.accepted;
      clock_.keep();
      now = std::move(proposal);
      own = *next;
      if (!(own < lineage.cost)) continue;
      lineage.cost = own;
      lineage.plan = now;
      if (!(own < best_)) continue;
      best_ = own;
      found_.step = own.step;
      found_.plan = now;
      report();
      if (is_optimal()) return false;
    }
    return true;
  }

  SplitModel& model_;
  const DeviceCluster& cluster_;
  const SplitSearchOptions& options_;
  SearchBudget& budget_;
  SplitClock clock_;
  RandomNumbers random_;
  std::vector<std::vector<double>> seconds_;  // by operator and device
  Lineage splits_;
  Lineage all_;
  bool has_asked_ = false;  // for another plan
  PlanCost best_;
  FoundSplit found_;
};

}  // namespace

SplitPlan random_start(SplitModel& model, std::uint32_t devices, std::uint64_t seed) {
  RandomNumbers random(seed);
  return SplitProposals(model, devices, random, std::vector<double>(model.operators().size(), 0)).random_start();
}

FoundSplit search_split(SplitModel& model, const DeviceCluster& cluster, const SplitSearchOptions& options, SearchBudget& budget) {
  return SplitSearch(model, cluster, options, budget).run();
}

}  // namespace xflow::parallel
