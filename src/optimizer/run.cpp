#include "src/optimizer/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "src/cost/cost_model.h"
#include "src/devices/cpu/footprint.h"
#include "src/devices/device_costs.h"
#include "src/optimizer/finalists.h"
#include "src/optimizer/one_by_one.h"
#include "src/optimizer/problem_model.h"
#include "src/optimizer/round.h"
#include "src/optimizer/rounds.h"
#include "src/optimizer/search_report.h"
#include "src/optimizer/shipping.h"
#include "src/optimizer/thread_tools.h"
#include "src/validation/end_to_end.h"
#include "src/validation/sizes.h"

namespace xflow::api {
namespace {

// Share of the time budget for timing kernels again that were timed under interference.
constexpr double kShareForRemeasuring = 0.25;
// Cost of an operation on top of its kernels. Of two graphs with equal time the one with fewer operations is
// better; an identity costs nothing but is superfluous.
constexpr double kNanosecondsPerOperation = 0.05;
// How often a search is repeated without rewrites whose gains are not sure.
constexpr int kMostUnsureSearches = 8;

// The stage that runs after a stage.
struct Next {
  enum class Kind : std::uint8_t {
    following,  // the next stage in the list
    at,         // `stage`: an earlier one, or a later one if the stages between have nothing to do
    end,
  };
  Kind kind = Kind::following;
  Stage stage{};
};
constexpr Next following() { return {}; }
constexpr Next at(Stage stage) { return {Next::Kind::at, stage}; }
constexpr Next end() { return {Next::Kind::end, {}}; }

class Optimization {
 public:
  Optimization(std::unique_ptr<Model> model, const OptimizeOptions& options, const RunContext& context, int rounds)
      : options_(options), context_(context), limits_(context.limits), most_rounds_(rounds) {
    round_.emplace(std::move(model), options);
  }

  // Runs the stages from `first` to `last`, in one loop.
  Result<void> run(Stage first, Stage last) {
    struct Entry {
      Stage stage;
      Result<Next> (Optimization::*run)();
    };
    // clang-format off
    static constexpr Entry kStages[] = {
        {Stage::load,      &Optimization::load},
        {Stage::simplify,  &Optimization::simplify},
        {Stage::search,    &Optimization::search},
        {Stage::remeasure, &Optimization::remeasure},
        {Stage::validate,  &Optimization::validate},
        {Stage::gate,      &Optimization::gate},
        {Stage::write,     &Optimization::write},
    };
    // clang-format on
    for (auto stage = static_cast<std::size_t>(first);;) {
      const double begin = limits_.seconds();
      const Result<Next> next = (this->*kStages[stage].run)();
      add_time(kStages[stage].stage, Seconds(limits_.seconds() - begin), round_->report);
      const bool keeps_earlier = rounds_ > 1 && context_.replay == nullptr;
      if (!next && keeps_earlier) return limits_.check();  // keep the result of the round before
      if (!next) return fail(next.error());
      if (next->kind == Next::Kind::end || (next->kind == Next::Kind::following && kStages[stage].stage == last)) return {};
      stage = next->kind == Next::Kind::at ? static_cast<std::size_t>(next->stage) : stage + 1;
      if (stage > static_cast<std::size_t>(last)) return {};
    }
  }

  Round& round() { return *round_; }
  Finished finished() { return std::move(best_); }

 private:
  // --- load -----------------------------------------------------------------------------------------------------------------------

  Result<Next> load() {
    Round& r = *round_;
    r.start = limits_.seconds();
    const auto lifted = r.model->lift(r.options, limits_, r.report);
    if (const auto ended = limits_.ends_search(); !lifted && lifted.error().code == ErrorCode::limit && ended) {
      XFLOW_CHECK(limits_.check());
      r.report.search.stop_reason = ended;
      api::keep_original(nothing_found(*ended), {}, r.report);
      return at(Stage::write);
    }
    if (!lifted) return fail(lifted.error());
    if (context_.replay != nullptr) {
      r.traced = context_.replay->take(r.model->graph_number(), context_.pass);
      if (r.traced == nullptr) return keep_original("the trace has no rewrites of it");
    }
    // Costs are computed at the first choice of sizes.
    r.options.input.shapes = r.model->runs().shapes[0];
    for (const auto& choice : r.model->runs().shapes)
      r.report.trace.shapes.insert(r.report.trace.shapes.end(), choice.begin(), choice.end());
    if (is_elsewhere(r.options)) r.options.validation.gate = false;
    if (r.options.validation.gate && runs_models(r.options.device)) {
      if (const auto opened = r.model->open_runner(r.options, limits_); !opened) return without_device(opened.error());
    }
    r.problem.emplace(r.model->problem());
    r.problem->session = &context_.session;
    return following();
  }

  // Chooses sizes, loads rules and opens the device.
  Result<Next> prepare() {
    Round& r = *round_;
    XFLOW_CHECK(limits_.check());
    XFLOW_CHECK(check_options(r.options));
    XFLOW_CHECK(choose_sizes());
    XFLOW_TRY(const bool has_rules, load_rules());
    if (!has_rules) return at(Stage::gate);
    if (context_.replay != nullptr) XFLOW_CHECK(context_.replay->check_rules(*r.rules));
    const auto opened = context_.session.open(r.options, bytes_of_run(), limits_.seconds_left());
    if (!opened) return without_device(opened.error());
    r.costs = *opened;
    r.report.device = device_text(r.costs->device().info());
    return following();
  }

  // Keeps the original if a runner was not waited for because the run had to end.
  Result<Next> without_device(const Error& error) {
    XFLOW_CHECK(limits_.check());
    const auto ended = limits_.ends_search();
    const bool had_to_end = limits_.is_over() || ended == search::StopReason::cancelled;
    if (error.code != ErrorCode::limit || !had_to_end) return fail(error);
    Round& r = *round_;
    const search::StopReason stop = ended.value_or(search::StopReason::time_limit);
    r.report.search.stop_reason = stop;
    api::keep_original(fmt::format("{}: {}", nothing_found(stop), error.text()), {}, r.report);
    return at(Stage::write);
  }

  Result<void> choose_sizes() {
    Round& r = *round_;
    const Problem& problem = *r.problem;
    XFLOW_TRY(r.sizes, choose_fitting_sizes(problem.arena, problem.graph, problem.inputs, r.options.input.shapes, r.model->runs().inner));
    r.report.sizes.assumed = r.sizes.assumed;
    r.report.sizes.assumed_inner = r.sizes.assumed_inner;
    if (const Acceptance& fit = r.sizes.inner_fit; !fit)
      r.report.sizes.contradictions.push_back(fmt::format("sizes behind opaque nodes contradict each other: {}", fit.reason));
    r.report.sizes.refused = r.sizes.defaults_fit.reason;
    if (!r.options.warning || !problem.name_of) return {};
    for (const std::string& text : one_by_one_warnings(problem.arena, problem.graph, r.sizes, problem.name_of)) r.options.warning(text);
    return {};
  }

  // Returns false if the search must end before the rules are decided.
  Result<bool> load_rules() {
    Round& r = *round_;
    r.rules = r.problem->rules;
    if (r.rules != nullptr) return true;
    auto decided = context_.session.rules(r.options, limits_.search_seconds_left(), [this] { return limits_.ends_search().has_value(); });
    XFLOW_CHECK(limits_.check());
    if (!decided && decided.error().code == ErrorCode::limit) {
      r.outcome.best = r.problem->graph;
      r.outcome.stop = limits_.ends_search().value_or(search::StopReason::time_limit);
      r.report.reason = fmt::format("{}: {}", nothing_found(r.outcome.stop), decided.error().message);
      r.report.search.stop_reason = r.outcome.stop;
      return false;
    }
    XFLOW_TRY(r.loaded, std::move(decided));
    r.rules = &*r.loaded;
    return true;
  }

  std::function<std::size_t()> bytes_of_run() const {
    return [this] { return cost::cpu::bytes_of_run(round_->problem->arena, round_->problem->graph, round_->sizes.valuation()); };
  }

  // --- simplify -------------------------------------------------------------------------------------------------------------------

  Result<Next> simplify() {
    round_->simplifications = round_->model->simplifications();
    return prepare();
  }

  // --- search ---------------------------------------------------------------------------------------------------------------------

  Result<Next> search() {
    Round& r = *round_;
    if (!r.validation && !r.searching) begin_search();
    if (!r.searching) r.searching.emplace(r.problem->arena, r.problem->graph, *r.cost_model, *r.rewriter, r.validation->options());
    r.outcome = r.searching->run();
    if (r.traced == nullptr) return following();
    XFLOW_CHECK(context_.replay->check_applied(*r.traced, r.outcome, limits_));
    return at(Stage::validate);
  }

  void begin_search() {
    Round& r = *round_;
    r.stop.emplace(r.costs->device(), limits_, r.problem->limits);
    r.cost_model.emplace(r.problem->arena, r.costs->device(), *r.costs->database, r.sizes.valuation(),
                         finds_gap() ? nullptr : r.costs->estimates.get());
    r.cost_model->on_measure([this](const std::string&) {
      if (++round_->measured % 4 == 0) tell(Phase::measuring);
    });
    r.rewriter.emplace(*r.rules, match_options(r.options.search.numerics));
    const search::Options options = search_options();
    r.cost_model->allow_remeasuring(kShareForRemeasuring * options.max_seconds.value_or(kDefaultSeconds));
    r.validation.emplace(*r.problem, r.model->runs(), options, r.report);
  }

  search::Options search_options() {
    Round& r = *round_;
    const SearchOptions& given = r.options.search;
    search::Options options = api::options_of(given);
    options.replay = r.traced == nullptr ? nullptr : &r.traced->rewrites;
    if (r.traced != nullptr) options.max_growth_bytes = std::numeric_limits<std::uint64_t>::max();
    options.seconds = [this] { return search_seconds(); };
    options.stop = [this] { return limits_.ends_search(); };
    if (r.problem->can_export)
      options.admissible = [this](const ir::Arena& arena, ir::NodeId node) { return round_->problem->can_export(arena, node).has_value(); };
    options.progress = [this](const search::Progress& p) {
      round_->progress.states = p.states;
      round_->progress.predicted = {p.original, p.best};
      tell(Phase::searching);
    };
    if (finds_gap()) options.bound_states = given.max_states.value_or(std::numeric_limits<std::uint64_t>::max());
    options.prices_are_known = r.costs->device().lookups().has_value();
    options.thread_tools = thread_tools(r.costs->device(), r.problem->arena, r.sizes.valuation(), *r.rules, given.numerics);
    if (r.options.validation.gate) options.finalists = kFinalists;
    options.per_operation = Nanoseconds{r.traced == nullptr ? kNanosecondsPerOperation : 0};
    return options;
  }

  // In each round: the parts whose graphs it visits may save something. The report has the gap of the model
  // as it came.
  bool finds_gap() const { return looks_for_gap(round_->options.search, round_->costs->device()); }

  // Seconds of the search without measuring, whose results serve all models on this machine.
  double search_seconds() const { return limits_.seconds() - round_->cost_model->statistics().measured_seconds; }

  void tell(Phase phase) {
    if (!context_.progress) return;
    OptimizeProgress& progress = round_->progress;
    progress.phase = phase;
    progress.time = Seconds(limits_.seconds());
    progress.time_left = Seconds(limits_.seconds_left());
    progress.fraction =
        phase == Phase::checking ? limits_.fraction() : used_of_budget(round_->options.search, progress.states, search_seconds());
    context_.progress(progress);
  }

  // --- remeasure ------------------------------------------------------------------------------------------------------------------

  Result<Next> remeasure() { return round_->searching->restarts(round_->outcome) ? at(Stage::search) : following(); }

  // --- validate -------------------------------------------------------------------------------------------------------------------

  Result<Next> validate() {
    Round& r = *round_;
    const auto checking = [&](const search::Outcome& found) {
      r.progress.states = found.states;
      r.progress.predicted = {found.before, found.after};
      tell(Phase::checking);
    };
    if (leaves_out_unsure()) {
      r.searching.reset();
      return at(Stage::search);
    }
    if (r.validation->restarts(r.outcome, checking)) {
      r.searching.reset();
      return at(Stage::search);
    }
    if (r.outcome.steps.empty() && !r.report.search.unsure.empty()) r.report.reason = no_sure_gain(*r.options.search.confidence);
    XFLOW_CHECK(limits_.check());
    for (Simplification& simplification : r.simplifications) {
      if (limits_.is_over()) break;
      XFLOW_TRY(const cost::Cost cost, r.cost_model->cost(simplification.part));
      simplification.gain = cost.time;
    }
    r.costs->database->flush();
    report_search();
    r.searching.reset();
    r.validation.reset();
    r.rewriter.reset();
    r.cost_model.reset();
    r.stop.reset();
    return following();
  }

  // Whether gains are not as sure as the options want, so that the search must be repeated without them.
  // Their rewrites are excluded at their places first, and everywhere if that goes on.
  bool leaves_out_unsure() {
    Round& r = *round_;
    const std::optional<double> confidence = r.options.search.confidence;
    if (!confidence || r.traced != nullptr || r.outcome.steps.empty()) return false;
    const auto gains = gains_of(r.outcome.best, r.outcome.correspondence, r.outcome.steps);
    const std::vector<std::size_t> steps = unsure_steps(gains, r.outcome.steps, *confidence, *r.problem, r.report.search.unsure);
    if (steps.empty()) return false;
    if (r.unsure_searches == kMostUnsureSearches || limits_.ends_search()) {
      r.validation->keep_original(r.outcome, "");
      return false;
    }
    r.validation->leave_out(r.outcome, steps, r.unsure_searches++ < kMostUnsureSearches / 2);
    return true;
  }

  std::vector<PartGain> gains_of(const ir::Graph& graph, const ir::ValueMap& correspondence, const std::vector<search::Step>& steps) {
    Round& r = *round_;
    return api::gains_of(*r.cost_model, r.costs->device(), r.problem->arena, r.problem->graph, {graph, correspondence, {}, steps});
  }

  void report_search() {
    Round& r = *round_;
    if (r.traced == nullptr) {
      r.kernels = FoundKernels(*r.cost_model, r.problem->graph, r.outcome);
      r.gains = {gains_of(r.outcome.best, r.outcome.correspondence, r.outcome.steps)};
      for (const search::Finalist& other : r.outcome.others) r.gains.push_back(gains_of(other.graph, other.correspondence, other.steps));
    }
    r.report.kernels = kernels_of(r.cost_model->statistics(), r.costs->device());
    list_search(r.outcome, r.report);
    r.report.search.time = std::max(r.report.search.time - r.report.kernels.time, Seconds(0));
    if (rounds_ == 1) r.report.search.gap = gap_of(r.options.search, r.costs->device(), r.outcome.bound);
    r.report.search.rules = counts_of(r.outcome.rules, *r.rules);
  }

  // --- gate -----------------------------------------------------------------------------------------------------------------------

  // Keeps the original. `predicted`: the predicted time of a result that was run and refused.
  Next keep_original(std::string reason, std::optional<Nanoseconds> predicted = {}) {
    api::keep_original(std::move(reason), predicted, round_->report);
    if (limits_.is_over()) round_->report.search.stop_reason = search::StopReason::time_limit;
    return at(Stage::write);
  }

  Result<Next> gate() {
    Round& r = *round_;
    OptimizeReport& report = r.report;
    r.finalists = finalists(std::move(r.outcome));
    r.model->list_steps(r.finalists[0], report);
    if (r.traced != nullptr) return lower_traced();
    const bool only_simplified = r.finalists[0].steps.empty();
    const bool has_runner = r.model->has_runner();
    // Whether removing free nodes makes a model faster in a runtime, only a run shows.
    if (only_simplified && !gain_time(r.simplifications) && (!has_runner || r.simplifications.empty())) return keep_original(report.reason);
    if (only_simplified && r.options.validation.gate && !has_runner)
      return keep_original(report.gate.reason = no_gain_of_simplifications(r.simplifications));
    report.reason.clear();
    // If no rewrite is faster in the runner, the original without its removable nodes may be. It replaces
    // the last finalist, because the gate's level is set for kFinalists of them.
    if (has_runner && !only_simplified && !r.simplifications.empty()) {
      if (r.finalists.size() >= kFinalists) r.finalists.pop_back();
      r.finalists.push_back({r.problem->graph, {}, report.predicted.before, {}, report.constant_bytes.before});
    }
    if (const Acceptance lowered = r.model->lower(r.finalists[0]); !lowered) return keep_original(lowered.reason);
    if (r.options.validation.gate) return judge();
    if (const Acceptance acceptance = r.model->accept_size(report); !acceptance) return keep_original(acceptance.reason);
    if (const Acceptance acceptance = r.model->accept_gain(report, r.simplifications); !acceptance)
      return keep_original(acceptance.reason, report.predicted.after);
    report.gate.reason = r.model->why_not_run(r.options);
    r.improved = true;
    return following();
  }

  // Ships the result of a trace.
  Result<Next> lower_traced() {
    Round& r = *round_;
    if (r.finalists[0].steps.size() != r.traced->rewrites.size())
      return fail(ErrorCode::unsupported, "the trace is not applied: " + r.report.reason);
    const Acceptance lowered = r.traced->declares_shapes ? r.model->lower_with_shapes(r.finalists[0]) : r.model->lower(r.finalists[0]);
    if (!lowered) return fail(ErrorCode::unsupported, "the trace is not applied: " + lowered.reason);
    r.report.reason.clear();
    r.declares_shapes = r.traced->declares_shapes;
    r.improved = true;
    return following();
  }

  Result<Next> judge() {
    Round& r = *round_;
    const std::function<void()> running = api::running(context_.progress, r.options, limits_, r.report);
    running();
    const auto judged = [&](std::size_t k) -> Acceptance {
      if (k > 0) {
        if (Acceptance lowered = r.model->lower(r.finalists[k]); !lowered) return lowered;
      }
      return r.model->judge(*r.problem, r.finalists[k], r.options, running, r.report);
    };
    std::string against;
    const auto shipped = judge_in_turn(*r.problem, r.model->runs(), r.finalists, r.options, judged, against, r.report);
    XFLOW_CHECK(limits_.check());
    if (!shipped) return keep_original("run from end to end, " + against, r.report.predicted.after);
    r.shipped = *shipped;
    r.model->list_steps(r.finalists[r.shipped], r.report);
    r.declares_shapes = r.model->refine(*r.problem, r.finalists[r.shipped], limits_, running, r.report);
    r.improved = true;
    return following();
  }

  // --- write ----------------------------------------------------------------------------------------------------------------------

  Result<Next> write() {
    Round& r = *round_;
    if (r.improved) {
      list_simplifications(r.simplifications, r.report);
      r.report.improved = true;
      r.model->count_nodes(r.finalists[r.shipped], r.simplifications, r.report);
      r.report.trace.searches = {traced_search(r.finalists[r.shipped], r.model->graph_number(), context_.pass, r.declares_shapes)};
      r.report.trace.rules = traced_rules(r.finalists[r.shipped], *r.rules);
    }
    if (const std::size_t judged = r.improved ? r.shipped : 0; judged < r.gains.size()) r.report.search.gains = std::move(r.gains[judged]);
    r.report.kernel_changes = r.improved ? r.kernels.changes(r.shipped, r.finalists[r.shipped]) : r.kernels.unchanged();
    r.model->close_runner();
    r.report.time = Seconds(limits_.seconds() - r.start);
    const NodeCounts nodes = r.report.nodes;
    if (rounds_ == 1) {
      best_.report = std::move(r.report);
    } else {
      XFLOW_CHECK(limits_.check());
      add_round(best_.report, std::move(r.report));
    }
    if (!r.improved) return end();
    if (rounds_ > 1) best_.report.nodes.kept = nodes.kept;
    best_.model = std::move(r.model);
    if (rounds_ == most_rounds_ || limits_.ends_search()) return end();
    XFLOW_CHECK(limits_.check());
    if (context_.replay != nullptr && context_.replay->next(best_.model->graph_number(), context_.pass) == nullptr) return end();
    const auto options = options_of_next_round(options_, best_.report);
    std::unique_ptr<Model> next = options ? best_.model->next(limits_) : nullptr;
    if (next == nullptr) return end();
    ++rounds_;
    round_.emplace(std::move(next), *options);
    return at(Stage::load);
  }

  const OptimizeOptions& options_;
  const RunContext& context_;
  const RunLimits& limits_;
  const int most_rounds_;
  int rounds_ = 1;
  Finished best_;
  std::optional<Round> round_;
};

}  // namespace

Result<Finished> run(std::unique_ptr<Model> model, const OptimizeOptions& options, const RunContext& context, int rounds) {
  Optimization optimization(std::move(model), options, context, rounds);
  XFLOW_CHECK(optimization.run(Stage::load, Stage::write));
  return optimization.finished();
}

Result<search::Outcome> improve(const Problem& problem, const OptimizeOptions& options, const ProgressCallback& progress,
                                OptimizeReport& report) {
  const RunLimits unlimited;
  Session own;
  const RunContext context{problem.limits == nullptr ? unlimited : *problem.limits, progress,
                           problem.session == nullptr ? own : *problem.session};
  Optimization optimization(std::make_unique<ProblemModel>(problem, options), options, context, 1);
  XFLOW_CHECK(optimization.run(Stage::load, Stage::validate));
  report = std::move(optimization.round().report);
  return std::move(optimization.round().outcome);
}

Result<search::Outcome> remeasured_search(ir::Arena& arena, const ir::Graph& graph, cost::CostModel& model, search::Rewriter& rewriter,
                                          const search::Options& options) {
  const Problem problem{arena, graph, {}};
  const OptimizeOptions defaults;
  const RunLimits unlimited;
  const ProgressCallback none;
  Session own;
  const RunContext context{unlimited, none, own};
  Optimization optimization(std::make_unique<ProblemModel>(problem, defaults), defaults, context, 1);
  optimization.round().searching.emplace(arena, graph, model, rewriter, options);
  XFLOW_CHECK(optimization.run(Stage::search, Stage::remeasure));
  return std::move(optimization.round().outcome);
}

Result<void> open_costs(const Problem& problem, const OptimizeOptions& options) {
  XFLOW_TRY(const Sizes sizes,
            choose_fitting_sizes(problem.arena, problem.graph, problem.inputs, problem.runs->shapes[0], problem.runs->inner));
  const auto bytes_of_run = [&] { return cost::cpu::bytes_of_run(problem.arena, problem.graph, sizes.valuation()); };
  const double seconds_left = problem.limits == nullptr ? std::numeric_limits<double>::infinity() : problem.limits->seconds_left();
  XFLOW_TRY(DeviceCosts* const costs, problem.session->open(options, bytes_of_run, seconds_left));
  if (problem.limits != nullptr) end_with(costs->device(), *problem.limits);
  return {};
}

}  // namespace xflow::api
