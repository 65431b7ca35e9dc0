#include "src/policy/go_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "src/parallel/ordered_bound.h"
#include "src/parallel/random_numbers.h"

namespace xflow::policy {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();
constexpr std::uint32_t kPlansOfPass = 128;
constexpr std::array<double, 2> kTemperatures = {1, 1.5};
// Nodes that change in a plan of the first pass: so many, or this share of all.
constexpr double kFirstChanges = 4;
constexpr double kFirstShare = 0.01;
// As in the local search (ordered_search.cpp): a longer step is taken if it is longer by about this share.
constexpr double kHottestShare = 0.001;
constexpr double kNodesOfHottestShare = 2000;
constexpr std::uint32_t kPassesFromBest = 4;

class GoPlanner {
 public:
  GoPlanner(const parallel::OrderedProblem& problem, GoNetwork network, const parallel::OrderedPlan& start, const GoPlanOptions& options,
            parallel::SearchBudget& budget)
      : network_(std::move(network)),
        episode_(problem, start),
        options_(options),
        random_(options.seed),
        budget_(budget),
        bound_(options.judge ? 0 : parallel::bound_from(problem, start, options.heads.fusions)) {
    budget_.spend();
    const parallel::OrderedStep step = options.judge ? *options.judge(start, kNoLimit) : episode_.step();
    best_ = {start, step.seconds, step.missing, 1};
    order_.resize(episode_.view().segments());
    std::iota(order_.begin(), order_.end(), 0);
    changes_ = std::max(kFirstChanges, kFirstShare * episode_.view().graph().nodes());
  }

  parallel::OrderedResult run() {
    const double most_changes = episode_.view().graph().nodes();
    for (std::uint32_t pass = 0; options_.passes == 0 || pass < options_.passes; ++pass) {
      if (is_over()) break;
      // Now and then from the best plan.
      if (pass % kPassesFromBest == 0) current_ = best_;
      if (pass > 0) episode_.go_to(current_.plan);
      const double before = current_.step;
      draw(pass);
      changes_ = std::clamp(current_.step < before ? 2 * changes_ : changes_ / 2, 2.0, most_changes);
    }
    return std::move(best_);
  }

 private:
  bool is_over() const {
    if (budget_.stop() || (best_.missing == 0 && best_.step <= bound_)) return true;
    // At the end of the time, spend() says why.
    return options_.share < 1 && budget_.is_past(options_.share);
  }

  void draw(std::uint32_t pass) {
    GoPlanView& view = episode_.view();
    std::array<GoProbabilities, 3> probabilities;
    probabilities[0] = go_probabilities(view, network_, options_.heads, kTemperatures[pass % kTemperatures.size()]);
    for (std::size_t k = 1; k < probabilities.size(); ++k) probabilities[k] = probabilities[0];
    for (std::size_t k = 0; k < probabilities.size(); ++k)
      set_change_count(view, std::ldexp(changes_, -static_cast<int>(k)), probabilities[k]);
    const double nodes = view.graph().nodes();
    const double hottest = pass % kPassesFromBest == 0 ? 0 : kHottestShare * std::min(1.0, kNodesOfHottestShare / nodes) * best_.step;
    for (std::uint32_t k = 0; k < kPlansOfPass && !is_over(); ++k) {
      if (!budget_.spend()) return;
      const GoProbabilities& own = probabilities[k % probabilities.size()];
      parallel::OrderedPlan plan = current_.plan;
      apply_choices(view, k == 0 ? likeliest_choices(view, own) : draw_choices(view, own, order_, random_), plan);
      const double cooling = 1 - static_cast<double>(k) / kPlansOfPass;
      simulate(std::move(plan), current_.step - hottest * cooling * std::log(random_.unit()));
    }
  }

  void simulate(parallel::OrderedPlan plan, double limit) {
    ++best_.proposals;
    const double own_limit = current_.missing > 0 ? kNoLimit : limit;
    const auto step = options_.judge ? options_.judge(plan, own_limit) : episode_.view().simulate(plan, own_limit);
    if (!step || step->missing > current_.missing || (step->missing == current_.missing && step->seconds > limit)) return;
    current_ = {std::move(plan), step->seconds, step->missing, 0};
    if (std::pair(step->missing, step->seconds) >= std::pair(best_.missing, best_.step)) return;
    const std::uint64_t proposals = best_.proposals;
    best_ = current_;
    best_.proposals = proposals;
  }

  GoNetwork network_;
  GoEpisode episode_;
  const GoPlanOptions options_;
  parallel::RandomNumbers random_;
  parallel::SearchBudget& budget_;
  const double bound_;  // of the step
  parallel::OrderedResult best_;
  parallel::OrderedResult current_;
  std::vector<std::uint32_t> order_;  // of all segments
  double changes_ = 1;                // of a plan
};

}  // namespace

Result<parallel::OrderedResult> plan_by_go(const parallel::OrderedProblem& problem, const GoPolicy& policy,
                                           const parallel::OrderedPlan& start, const GoPlanOptions& options,
                                           parallel::SearchBudget& budget) {
  XFLOW_TRY(GoNetwork network, GoNetwork::of(policy.weights));
  return GoPlanner(problem, std::move(network), start, options, budget).run();
}

}  // namespace xflow::policy
