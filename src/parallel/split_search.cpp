#include "src/parallel/split_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "src/parallel/random_numbers.h"
#include "src/parallel/split_clock.h"
#include "src/parallel/split_lists.h"

namespace xflow::parallel {
namespace {

class SplitSearch {
 public:
  SplitSearch(SplitModel& model, const DeviceCluster& cluster, const SplitSearchOptions& options, SearchBudget& budget)
      : model_(model), cluster_(cluster), options_(options), budget_(budget), clock_(model, cluster, options.kind), random_(options.seed) {
    members_.resize(model.kinds());
    for (std::uint32_t op = 0; op < model.operators().size(); ++op) {
      const SplitOperator& own = model.operators()[op];
      members_[own.kind].push_back(op);
      const auto& axes = model.kind(own).axes;
      const bool has_parts = std::ranges::any_of(axes, [](const OperatorAxis& axis) { return axis.blocks > 1; });
      if (has_parts) movable_.push_back(op);
    }
  }

  FoundSplit run() {
    std::vector<NamedPlan> starts = start_plans(model_, cluster_.size());
    if (cluster_.size() > 1)
      for (const ListMethod method : {ListMethod::heft, ListMethod::earliest, ListMethod::filled})
        starts.push_back({name(method), list_plan(model_, cluster_, method)});
    for (NamedPlan& start : starts) {
      const PlanCost own = *cost(start.plan, {std::numeric_limits<double>::infinity(), 0});
      found_.starts.emplace_back(start.name, own.step);
      if (!found_.plan.empty() && !(own < best_)) continue;
      best_ = own;
      found_.step = own.step;
      found_.plan = std::move(start.plan);
      found_.best_start = start.name;
    }
    report();
    constexpr std::uint64_t kFirstChain = 256;
    if (!movable_.empty() && cluster_.size() > 1)
      for (std::uint64_t length = kFirstChain; !is_optimal() && chain(length); length *= 2) {
      }
    found_.is_optimal = is_optimal();
    return std::move(found_);
  }

 private:
  // Less is better: first the bytes of constants that devices have no memory for, then seconds.
  struct PlanCost {
    double missing = 0;
    double step = 0;
    friend auto operator<=>(const PlanCost&, const PlanCost&) = default;
  };
  // The cost if it is at most `limit`.
  std::optional<PlanCost> cost(const SplitPlan& plan, const PlanCost& limit) {
    PlanCost found{clock_.prepare(plan), 0};
    if (found.missing > limit.missing) return std::nullopt;
    const bool is_limited = found.missing == limit.missing;
    const auto step = clock_.step(is_limited ? limit.step : std::numeric_limits<double>::infinity());
    if (!step) return std::nullopt;
    found.step = *step;
    return found;
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
    PlanCost own = best_;
    for (std::uint64_t k = 0; k < length; ++k) {
      if (!budget_.spend()) return false;
      constexpr std::uint64_t kPerReport = 256;
      if (++found_.proposals % kPerReport == 0) report();
      const double temperature =
          found_.step * kHottest * std::pow(kColdest / kHottest, static_cast<double>(k) / static_cast<double>(length));
      const PlanCost limit{own.missing, own.step - temperature * std::log(random_.unit())};
      SplitPlan proposal = now;
      if (!propose(proposal) || proposal == now) continue;
      const auto next = cost(proposal, limit);
      if (!next) continue;
      ++found_.accepted;
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

  // Changes the plans of some operators; false if it does not.
  bool propose(SplitPlan& plan) {
    const std::uint32_t op = movable_[random_.below(static_cast<std::uint32_t>(movable_.size()))];
    OperatorPlan own;
    const std::uint32_t read = random_read(op);
    if (read != kNoOperator && random_.below(3) == 0) {
      const std::uint32_t maker = model_.values()[model_.operators()[op].reads[read]].maker;
      own = following_plan(model_, op, read, plan[maker], cluster_.size());
    } else {
      own = random_plan(op);
    }
    if (!is_possible(model_, op, own, cluster_.size())) return false;
    // The operator alone, all of its kind, or those that are as it is now.
    const OperatorPlan before = plan[op];
    std::vector<std::uint32_t> moved = {op};
    const std::uint32_t scope = random_.below(3);
    if (scope > 0) {
      moved.clear();
      for (const std::uint32_t other : members_[model_.operators()[op].kind])
        if (scope == 1 || plan[other] == before) moved.push_back(other);
    }
    add_tied(moved);
    for (const std::uint32_t other : moved) plan[other] = own;
    // What follows takes the parts as they are, up to the next product.
    if (random_.below(2) == 0) follow(plan, moved);
    return true;
  }

  // Operators of one kind that share weights have one plan.
  void add_tied(std::vector<std::uint32_t>& moved) const {
    std::set<std::uint32_t> all(moved.begin(), moved.end());
    for (const std::uint32_t op : moved) {
      for (const std::uint32_t read : model_.operators()[op].reads)
        for (const std::uint32_t other : model_.values()[read].tied)
          if (model_.operators()[other].kind == model_.operators()[op].kind) all.insert(other);
    }
    moved.assign(all.begin(), all.end());
  }

  std::uint32_t random_read(std::uint32_t op) {
    const auto& reads = model_.operators()[op].reads;
    if (reads.empty()) return kNoOperator;
    const std::uint32_t read = random_.below(static_cast<std::uint32_t>(reads.size()));
    return model_.values()[reads[read]].maker == kNoOperator ? kNoOperator : read;
  }

  // A random split into a divisor of the number of devices.
  OperatorPlan random_plan(std::uint32_t op) {
    const OperatorKind& kind = model_.kind(model_.operators()[op]);
    std::vector<Split> targets;
    for (std::uint32_t d = 0; d < kind.axes.size(); ++d)
      if (kind.axes[d].blocks > 1) targets.push_back({SplitTarget::output, d});
    if (kind.reduction.blocks > 1) targets.push_back({SplitTarget::reduction, 0});
    targets.push_back({SplitTarget::copies, 0});
    OperatorPlan plan;
    std::uint32_t left = cluster_.size();
    while (left > 1 && random_.below(4) > 0) {
      std::vector<std::uint32_t> degrees;
      for (std::uint32_t degree = 2; degree <= left; ++degree)
        if (left % degree == 0) degrees.push_back(degree);
      Split split = targets[random_.below(static_cast<std::uint32_t>(targets.size()))];
      split.degree = degrees[random_.below(static_cast<std::uint32_t>(degrees.size()))];
      left /= split.degree;
      plan.splits.push_back(split);
    }
    // Neighbours in the last split are neighbours among the devices.
    std::uint32_t stride = 1;
    for (auto split = plan.splits.rbegin(); split != plan.splits.rend(); ++split) {
      split->stride = stride;
      stride *= split->degree;
    }
    plan.base = random_.below(left) * stride;
    return plan;
  }

  void follow(SplitPlan& plan, const std::vector<std::uint32_t>& moved) {
    std::vector<bool> is_moved(plan.size(), false);
    std::uint32_t first = kNoOperator;
    for (const std::uint32_t op : moved) {
      is_moved[op] = true;
      first = std::min(first, op);
    }
    const std::vector<bool> fixed = is_moved;
    for (std::uint32_t op = first; op < plan.size(); ++op) {
      if (fixed[op] || model_.operators()[op].is_product) continue;
      const std::uint32_t read = main_read(model_, op);
      if (read == kNoOperator) continue;
      const std::uint32_t maker = model_.values()[model_.operators()[op].reads[read]].maker;
      if (!is_moved[maker]) continue;
      is_moved[op] = true;
      plan[op] = following_plan(model_, op, read, plan[maker], cluster_.size());
    }
  }

  SplitModel& model_;
  const DeviceCluster& cluster_;
  const SplitSearchOptions& options_;
  SearchBudget& budget_;
  SplitClock clock_;
  RandomNumbers random_;
  std::vector<std::vector<std::uint32_t>> members_;  // operators, by kind
  std::vector<std::uint32_t> movable_;               // operators with parts
  PlanCost best_;
  FoundSplit found_;
};

}  // namespace

FoundSplit search_split(SplitModel& model, const DeviceCluster& cluster, const SplitSearchOptions& options, SearchBudget& budget) {
  return SplitSearch(model, cluster, options, budget).run();
}

}  // namespace xflow::parallel
