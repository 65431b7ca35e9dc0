#include "src/api/joint_search.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <unordered_set>
#include <utility>

#include "src/cost/cost_model.h"
#include "src/eval/evaluate.h"
#include "src/onnx/document/document_writer.h"
#include "src/onnx/lower/lower.h"
#include "src/optimizer/load_rules.h"
#include "src/optimizer/problem.h"
#include "src/optimizer/region_validation.h"
#include "src/parallel/rewritten_operators.h"
#include "src/parallel/search_budget.h"
#include "src/search/rule_rewriter.h"
#include "src/search/search.h"
#include "src/search/simplify.h"

namespace xflow::api {
namespace {

using search::InnerSpace;

constexpr double kAlpha = 1.02;          // graphs whose step is longer than the best by more are not rewritten further
constexpr double kLeastGain = 1e-3;      // of a step; less is not worth another graph
constexpr double kMostDeviceTime = 1.5;  // of the original's, on one device
constexpr std::uint64_t kDeviceStates = 2000;
constexpr Nanoseconds kPerOperation{0.05};  // as `xflow optimize`: of two graphs that take the same time, that with fewer operations
constexpr std::size_t kFewPlaces = 4;       // of a rule, that are also tried one by one

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

using Rewrites = std::vector<TracedRewrite>;

Rewrites rewrites_of(const search::Outcome& found) {
  Rewrites rewrites;
  for (const search::Step& step : found.steps) rewrites.push_back({step.rule, static_cast<std::uint64_t>(step.root), step.match});
  return rewrites;
}

// What plans of graphs cost.
class GraphPlanner {
 public:
  GraphPlanner(ClusterModel& model, const std::vector<parallel::OperatorSource>& operators, const parallel::DeviceCluster& cluster,
               const JointOptions& options)
      : model_(model),
        operators_(operators),
        cluster_(cluster),
        options_(options),
        end_(now() + options.budget.count()),
        programs_(std::make_shared<parallel::PartPrograms>(model.arena(), model.sizes())) {}

  bool is_over() const { return options_.cancel.is_finishing() || used() >= 1; }
  // The used part of the limits.
  double used() const {
    const double graphs = static_cast<double>(planned_) / static_cast<double>(options_.graphs);
    return std::max(graphs, 1 - seconds_left() / options_.budget.count());
  }
  std::uint64_t planned() const { return planned_; }
  double seconds_left() const { return std::max(0.0, end_ - now()); }

  // Seconds of the step of a graph: of the best start plan, which says where to rewrite on, since proposals
  // are a matter of luck, and with proposals. Nothing if it cannot be planned.
  struct Steps {
    double start = 0;
    double found = 0;
  };
  std::optional<Steps> steps_of(const ir::Graph& graph, const ir::ValueMap& correspondence) {
    ++planned_;
    auto split =
        parallel::SplitModel::of(model_.arena(), graph, parallel::rewritten_operators(model_.arena(), graph, correspondence, operators_),
                                 model_.sizes(), model_.costs());
    if (!split) return std::nullopt;
    if (options_.equal_parts) (*split)->require_equal_parts();
    if (options_.writes_parts) (*split)->require_opset(model_.lifted().opset);
    parallel::SplitSearchOptions own;
    own.kind = options_.kind;
    own.seed = options_.seed;
    own.has_random_start = false;  // graphs are compared by what good plans do
    parallel::SearchBudget budget(Seconds(std::numeric_limits<double>::infinity()), options_.proposals, options_.cancel, 1);
    const parallel::FoundSplit found = parallel::search_split(**split, cluster_, own, budget);
    return Steps{std::ranges::min(found.starts, {}, &std::pair<std::string, double>::second).second, found.step};
  }

 private:
  ClusterModel& model_;
  const std::vector<parallel::OperatorSource>& operators_;
  const parallel::DeviceCluster& cluster_;
  const JointOptions& options_;
  const double end_;
  const std::shared_ptr<parallel::PartPrograms> programs_;  // proofs of all graphs
  std::uint64_t planned_ = 0;
};

// Rewrites by the steps of plans. The result of the search is the graph with the shortest one.
class StepStrategy final : public search::InnerStrategy {
 public:
  // `known`: rewrites of the original to begin with, the first ones those that are best on one device.
  // `is_clean_up`: rules that leave fewer operations, which follow each rewrite.
  StepStrategy(GraphPlanner& planner, std::vector<Rewrites> known, std::function<bool(std::string_view)> is_clean_up,
               const JointOptions& options)
      : planner_(planner), known_(std::move(known)), is_clean_up_(std::move(is_clean_up)), options_(options) {}

  double before() const { return before_; }
  double after() const { return best_.step; }
  double optimised() const { return optimised_; }
  bool is_improved() const { return best_.state != SearchState{0}; }

 private:
  struct Planned {
    SearchState state{};
    double step = 0;
  };

  // How a graph was made: the rewrites that it began with, and the rules that were applied to it.
  struct Way {
    std::optional<std::size_t> known;  // number of the rewrites
    std::vector<std::string> rules;
  };

  void search_inner(InnerSpace& space) override {
    plan(space, space.original(), {});
    before_ = optimised_ = best_.step;
    for (std::size_t k = 0; k < known_.size() && !is_over(space); ++k) {
      const auto step = plan(space, space.follow(known_[k]), {k, {}});
      if (k == 0 && step) optimised_ = *step;
    }
    constexpr double kShare = 0.7;  // of the limits; the rest is for shorter ways
    while (!open_.empty() && !is_over(space) && planner_.used() < kShare) {
      const auto [start, next] = *open_.begin();
      open_.erase(open_.begin());
      if (start > kAlpha * best_start_) break;
      expand(space, next);
    }
    while (shorten(space)) {
    }
    space.choose(best_.state);
  }

  bool is_over(InnerSpace& space) const { return planner_.is_over() || space.is_over(); }

  std::optional<double> plan(InnerSpace& space, SearchState state, const Way& way) {
    if (!seen_.insert(space.hash(state)).second) return std::nullopt;
    if (space.time(state) > kMostDeviceTime * space.time(space.original())) return std::nullopt;
    const auto reached = space.reached(state);
    if (!reached) return std::nullopt;
    const auto steps = planner_.steps_of(reached->graph, reached->correspondence);
    if (!steps) return std::nullopt;
    open_.insert({steps->start, state});
    ways_.emplace(state, way);
    best_start_ = std::min(best_start_, steps->start);
    if (best_.step == 0 || steps->found < best_.step * (1 - kLeastGain)) best_ = {state, steps->found};
    if (options_.progress) options_.progress(planner_.planned(), Seconds(best_.step));
    return steps->found;
  }

  // Applies each rule wherever it matches, and one by one where it matches at few places.
  void expand(InnerSpace& space, SearchState state) {
    std::map<std::string, std::vector<PossibleRewrite>> by_rule;
    for (const PossibleRewrite& own : space.rewrites(state)) by_rule[std::string(own.rule)].push_back(own);
    for (const auto& [rule, rewrites] : by_rule) {
      Way way = ways_.at(state);
      way.rules.push_back(rule);
      if (is_over(space)) return;
      plan(space, clean(space, apply_all(space, state, rewrites)), way);
      if (rewrites.size() < 2 || rewrites.size() > kFewPlaces) continue;
      for (const PossibleRewrite& own : rewrites) {
        if (is_over(space)) return;
        if (const auto one = space.apply(state, own)) plan(space, clean(space, *one), way);
      }
    }
  }

  static SearchState apply_all(InnerSpace& space, SearchState state, const std::vector<PossibleRewrite>& rewrites) {
    for (const PossibleRewrite& own : rewrites) state = space.apply(state, own).value_or(state);
    return state;
  }

  // Makes the best graph once more without one of the rules on the way to it. True if that has a shorter
  // step.
  bool shorten(InnerSpace& space) {
    const Planned before = best_;
    const Way way = ways_.at(best_.state);
    const std::size_t first = way.known ? 0 : 1;  // 0: without the rewrites that it began with
    for (std::size_t left = first; left <= way.rules.size() && !is_over(space); ++left) {
      Way shorter{left == 0 ? std::nullopt : way.known, {}};
      SearchState state = shorter.known ? space.follow(known_[*shorter.known]) : space.original();
      for (std::size_t k = 0; k < way.rules.size(); ++k) {
        if (k + 1 == left) continue;
        std::vector<PossibleRewrite> rewrites = space.rewrites(state);
        std::erase_if(rewrites, [&](const PossibleRewrite& own) { return own.rule != way.rules[k]; });
        state = clean(space, apply_all(space, state, rewrites));
        shorter.rules.push_back(way.rules[k]);
      }
      plan(space, state, shorter);
      if (best_.state != before.state) return true;
    }
    return false;
  }

  // Applies clean-ups of what takes no time, such as two reshapes, until there is none: other rules may need
  // them. Those that save time are rewrites as others are.
  SearchState clean(InnerSpace& space, SearchState state) {
    constexpr int kMostRounds = 10;
    for (int round = 0; round < kMostRounds && !is_over(space); ++round) {
      const SearchState before = state;
      for (const PossibleRewrite& own : space.rewrites(before))
        if (is_free(own) && is_clean_up_(own.rule)) state = space.apply(state, own).value_or(state);
      if (state == before) break;
    }
    return state;
  }

  // Whether a rewrite changes operations that take no time.
  static bool is_free(const PossibleRewrite& rewrite) {
    constexpr Nanoseconds kMost{1};
    return rewrite.change <= Nanoseconds(0) && rewrite.change > -kMost;
  }

  GraphPlanner& planner_;
  const std::vector<Rewrites> known_;
  const std::function<bool(std::string_view)> is_clean_up_;  // by the name of a rule
  const JointOptions& options_;
  double before_ = 0;
  double optimised_ = 0;
  Planned best_;
  std::map<SearchState, Way> ways_;
  std::set<std::pair<double, SearchState>> open_;  // by the step of the best start plan
  double best_start_ = std::numeric_limits<double>::infinity();
  std::unordered_set<std::uint64_t> seen_;
};

class JointSearch {
 public:
  JointSearch(ClusterModel& model, const std::vector<parallel::OperatorSource>& operators, const parallel::DeviceCluster& cluster,
              const JointOptions& options)
      : model_(model), options_(options), planner_(model, operators, cluster, options) {}

  Result<JointResult> run() {
    XFLOW_TRY(const rules::VerifiedRules rules, load_rules({}));
    DeviceCosts& device = model_.first_costs();
    cost::CostModel costs(model_.arena(), device.device(), *device.database, model_.sizes());
    search::RuleRewriter rewriter(rules, {});
    const search::Workspace::Follow follow = [&](const ir::WorkGraph& graph) { return costs.follow(graph); };
    const auto search = [&](const search::Options& own) {
      return search::search(model_.arena(), model_.lifted().graph, rewriter, follow, own);
    };
    const auto is_clean_up = [&](std::string_view name) {
      const rules::Rule* rule = rules.find(name);
      return rule != nullptr && search::is_clean_up(*rule);
    };
    StepStrategy strategy(planner_, best_on_a_device(search), is_clean_up, options_);
    search::Options own = options();
    own.own_strategy = &strategy;
    const search::Outcome found = search(own);
    JointResult result;
    result.before = result.after = strategy.before();
    result.optimised = strategy.optimised();
    result.graphs = planner_.planned();
    if (!strategy.is_improved() || found.steps.empty()) return result;
    XFLOW_CHECK(write(found, result));
    if (!result.model) return result;
    result.after = strategy.after();
    for (const search::Step& step : found.steps) ++result.rules[step.rule];
    return result;
  }

 private:
  search::Options options() const {
    search::Options own;
    own.admissible = [this](const ir::Arena& arena, ir::NodeId node) {
      return onnx_io::can_export(arena, node, model_.lifted().opset).has_value();
    };
    own.max_growth_bytes = std::uint64_t{64} << 10U;
    own.per_operation = kPerOperation;
    own.stop = [this]() -> std::optional<search::StopReason> {
      if (options_.cancel.is_finishing()) return search::StopReason::cancelled;
      if (planner_.is_over()) return search::StopReason::time_limit;
      return std::nullopt;
    };
    return own;
  }

  // What is best on one device, with all rules and without each of those that it applies.
  template <typename Search>
  std::vector<Rewrites> best_on_a_device(const Search& search) {
    search::Options own = options();
    own.max_states = kDeviceStates;
    constexpr double kShare = 0.1;  // of the budget, for each search
    own.max_seconds = kShare * options_.budget.count();
    const search::Outcome best = search(own);
    std::vector<Rewrites> known{rewrites_of(best)};
    std::set<std::string> applied;
    for (const search::Step& step : best.steps) applied.insert(step.rule);
    for (const std::string& rule : applied) {
      constexpr double kLeft = 0.5;  // of the budget, for plans
      if (planner_.is_over() || planner_.seconds_left() < kLeft * options_.budget.count()) break;
      own.excluded = [&rule](std::string_view other, std::span<const ir::ValueId> /*originals*/) { return other == rule; };
      known.push_back(rewrites_of(search(own)));
    }
    return known;
  }

  // Executes the rewritten parts, and writes the graph as a model.
  Result<void> write(const search::Outcome& found, JointResult& result) {
    Problem problem{model_.arena(), model_.lifted().graph, model_.inputs()};
    problem.name_of = [this](ir::ValueId value) {
      const auto name = model_.lifted().names.find(value);
      return name == model_.lifted().names.end() ? std::string("inside of a node") : std::string(name->second);
    };
    std::map<ir::ValueId, ir::Constant> folded;
    problem.fold = [&](ir::ValueId value) -> Result<ir::Constant> {
      if (const auto known = folded.find(value); known != folded.end()) return known->second;
      XFLOW_TRY(ir::Constant constant, eval::fold(model_.arena(), value));
      return folded.emplace(value, std::move(constant)).first->second;
    };
    const search::Finalist finalist{found.best, found.correspondence, {}, {}, 0};
    OptimizeReport report;
    if (!agrees(problem, model_.runs(), finalist, report)) {
      result.refused = "a rewritten part does not agree with the original, or cannot be executed";
      return {};
    }
    XFLOW_TRY(const onnx_io::LoweredModel lowered,
              onnx_io::lower(model_.document(), model_.lifted(), model_.arena(), found.best, found.correspondence, problem.fold));
    if (lowered.edits.empty()) return {};
    XFLOW_TRY(result.model, onnx_io::write_bytes(model_.document(), lowered.edits));
    return {};
  }

  ClusterModel& model_;
  const JointOptions& options_;
  GraphPlanner planner_;
};

}  // namespace

Result<JointResult> search_jointly(ClusterModel& model, const std::vector<parallel::OperatorSource>& operators,
                                   const parallel::DeviceCluster& cluster, const JointOptions& options) {
  return JointSearch(model, operators, cluster, options).run();
}

}  // namespace xflow::api
