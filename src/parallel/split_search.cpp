#include "src/parallel/split_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

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
        proposals_(model, cluster.size(), random_) {}

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
    constexpr std::uint64_t kFirstChain = 256;
    if (!proposals_.empty() && cluster_.size() > 1)
      for (std::uint64_t length = kFirstChain; !is_optimal() && chain(length); length *= 2) {
      }
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

  // False once the budget is spent.
  bool chain(std::uint64_t length) {
    constexpr double kHottest = 3e-3;
    constexpr double kColdest = 3e-5;
    SplitPlan now = found_.plan;
    PlanCost own = *clock_.cost(now);
    clock_.keep();
    for (std::uint64_t k = 0; k < length; ++k) {
      if (!budget_.spend()) return false;
      constexpr std::uint64_t kPerReport = 256;
      if (++found_.proposals % kPerReport == 0) report();
      const double temperature =
          found_.step * kHottest * std::pow(kColdest / kHottest, static_cast<double>(k) / static_cast<double>(length));
      const PlanCost limit{own.missing, own.step - temperature * std::log(random_.unit())};
      SplitPlan proposal = now;
      if (!proposals_.propose(proposal) || proposal == now) continue;
      const auto next = clock_.cost(proposal, limit);
      if (!next) continue;
      ++found_.accepted;
      clock_.keep();
      now = std::move(proposal);
      own = *next;
      if (own < best_) {
        best_ = own;
        found_.step = own.step;
        found_.plan = now;
        report();
        if (is_optimal()) return false;
      }
    }
    return true;
  }

  SplitModel& model_;
  const DeviceCluster& cluster_;
  const SplitSearchOptions& options_;
  SearchBudget& budget_;
  SplitClock clock_;
  RandomNumbers random_;
  SplitProposals proposals_;
  PlanCost best_;
  FoundSplit found_;
};

}  // namespace

SplitPlan random_start(SplitModel& model, std::uint32_t devices, std::uint64_t seed) {
  RandomNumbers random(seed);
  return SplitProposals(model, devices, random).random_start();
}

FoundSplit search_split(SplitModel& model, const DeviceCluster& cluster, const SplitSearchOptions& options, SearchBudget& budget) {
  return SplitSearch(model, cluster, options, budget).run();
}

}  // namespace xflow::parallel
