#include "src/optimizer/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>

#include "src/cost/cover.h"
#include "src/devices/cpu/footprint.h"
#include "src/devices/device_kind.h"
#include "src/devices/gpu/gpu_device.h"
#include "src/devices/profile/profile_device.h"
#include "src/optimizer/checked_search.h"
#include "src/optimizer/one_by_one.h"
#include "src/optimizer/remeasured_search.h"
#include "src/optimizer/shipped_rules.h"
#include "src/search/rule_rewriter.h"
#include "src/verifier/checker/records.h"

namespace xflow::api {
namespace {

constexpr int kMostThreads = 1024;
// Of the budget of time: kernels that were timed on a disturbed machine are timed again for at most so long.
constexpr double kShareForAgain = 0.25;
// Of two graphs that take equal time the one with fewer operations is better: an identity costs nothing and is still one too many.
constexpr double kNanosecondsPerOperation = 0.05;

// Timing kernels and running whole models there end with the run.
void end_with(cost::Device& device, const RunLimits& limits) {
  device.stop_when([&limits] { return limits.is_over(); });
  device.set_seconds_left([&limits] { return limits.seconds_left(); });
}

// Timing kernels ends with the search, and a kernel has a part of the memory: several ways to compute it lie beside each other.
class StopDevice {
 public:
  StopDevice(cost::Device& device, const RunLimits& limits, const RunLimits* afterwards) : device_(device), afterwards_(afterwards) {
    device.stop_when([&limits] { return limits.ends_search().has_value(); });
    device.set_seconds_left([&limits] { return limits.search_seconds_left(); });
    if (limits.max_bytes() == 0) return;
    device.set_most_bytes(limits.max_bytes() / kKernelsInMemory);
    device.set_bytes_left([&limits] { return limits.bytes_left(); });
  }
  ~StopDevice() {
    device_.stop_when(nullptr);
    device_.set_bytes_left(nullptr);
    device_.set_seconds_left(nullptr);
    if (afterwards_ != nullptr) end_with(device_, *afterwards_);
  }
  StopDevice(const StopDevice&) = delete;
  StopDevice& operator=(const StopDevice&) = delete;

 private:
  static constexpr std::uint64_t kKernelsInMemory = 4;
  cost::Device& device_;
  const RunLimits* afterwards_;  // what ends timing kernels when there is no search any more
};

// Of the budget that is nearest to its end. Without any there is one of time.
double used_of_budget(const SearchOptions& budget, std::uint64_t states, double seconds) {
  double used = 0;
  if (budget.max_states) used = static_cast<double>(states) / static_cast<double>(std::max<std::uint64_t>(*budget.max_states, 1));
  if (budget.max_time || !budget.max_states) used = std::max(used, seconds / budget.max_time.value_or(Seconds(kDefaultSeconds)).count());
  return std::clamp(used, 0.0, 1.0);
}

rules::MatchOptions match_options(Numerics numerics) { return {numerics == Numerics::any, numerics == Numerics::exact}; }

std::string device_text(const cost::DeviceInfo& info) {
  return fmt::format("{}: {}, {} thread{}, {}", info.name, info.model, info.threads, info.threads == 1 ? "" : "s", info.library);
}

}  // namespace

bool is_elsewhere(const OptimizeOptions& options) {
  if (runs_models(options.device)) return false;
  if (options.device.own != nullptr) return true;
  const DeviceKind* kind = find_device_kind(options.device.name);
  return kind != nullptr && !kind->runs_graphs;
}

std::string why_not_run(const OptimizeOptions& options, std::string_view what, std::string_view option) {
  if (is_elsewhere(options)) return "nothing was run on the device: all times are predicted";
  return fmt::format("the whole {} was not timed, its time is predicted: {}", what, option);
}

Result<rules::VerifiedRules> load_rules(const OptimizeOptions& options, double seconds, std::function<bool()> stop,
                                        std::set<rules::RuleHash>* known) {
  using Clock = std::chrono::steady_clock;
  constexpr double kForever = 1e9;
  verifier::Options deciding;
  Clock::time_point end = Clock::time_point::max();
  if (seconds < kForever) end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  deciding.deadline = stop ? verifier::Deadline(end, std::move(stop)) : verifier::Deadline(end);
  std::string undecided;
  std::vector<rules::RuleHash> proved;
  for (const verifier::ProofRecord& record : shipped_rule_records()) proved.push_back(record.rule);
  std::string explanation;
  std::map<std::string, verifier::RecordFile> beside;  // records of the user's own files
  rules::VerifiedRules rules(proved, [&](const rules::Rule& rule) {
    const auto [file, is_new] = beside.try_emplace(rule.file);
    if (is_new && !options.search.rule_text) {
      if (auto records = verifier::read_records(verifier::records_path(rule.file))) file->second = *std::move(records);
    }
    // A record that does not fit says nothing of the rule: it is decided then.
    const verifier::RuleRecord* record = file->second.find(rule.hash);
    if (record != nullptr && verifier::replay(rule, *record)) return true;
    if (known != nullptr && known->contains(rule.hash)) return true;
    const verifier::RuleDecision decision = verifier::decide(rule, deciding);
    explanation = decision.explanation();
    if (decision.verdict == verifier::Verdict::timeout && verifier::is_over(deciding.deadline)) undecided = rule.name;
    if (decision.verdict != verifier::Verdict::proved) return false;
    if (known != nullptr) known->insert(rule.hash);
    return true;
  });
  const auto explained = [&](Result<void> result) -> Result<void> {
    if (!result && !undecided.empty()) return fail(ErrorCode::limit, fmt::format("rule {} was not decided in time", undecided));
    if (!result && result.error().code == ErrorCode::not_proved && !explanation.empty()) result.error().message += ": " + explanation;
    return result;
  };
  if (options.search.rule_text) {
    XFLOW_CHECK(explained(rules.add(*options.search.rule_text, "rule_text")));
  } else if (options.search.rules.empty()) {
    // A build has the records of all of them, but without Z3 of those that can be replayed without it.
    for (const ShippedFile& file : shipped_rule_files()) XFLOW_CHECK(rules.add_known(file.text, file.name));
  }
  if (!options.search.rule_text) {
    for (const std::string& path : options.search.rules) XFLOW_CHECK(explained(rules.add_path(path)));
  }
  for (const std::string& name : options.search.skip_rules) XFLOW_CHECK(rules.skip(name));
  return rules;
}

Result<search::Outcome> improve(const Problem& problem, const OptimizeOptions& options, const ProgressCallback& progress,
                                OptimizeReport& report) {
  const RunLimits unlimited;
  const RunLimits& limits = problem.limits == nullptr ? unlimited : *problem.limits;
  const auto seconds = [&] { return limits.seconds(); };
  if (!(options.search.alpha >= 1)) return fail(ErrorCode::invalid_argument, "alpha must be at least 1");
  if (!(options.search.max_growth >= 0)) return fail(ErrorCode::invalid_argument, "max_growth must not be negative");
  if (options.device.threads < 1 || options.device.threads > kMostThreads)
    return fail(ErrorCode::invalid_argument, fmt::format("{} threads are not in the range 1 to {}", options.device.threads, kMostThreads));
  const InnerSizes inner = problem.runs == nullptr ? InnerSizes() : problem.runs->inner;
  XFLOW_TRY(const Sizes sizes, choose_fitting_sizes(problem.arena, problem.graph, problem.inputs, options.input.shapes, inner));
  report.sizes.assumed = sizes.assumed;
  report.sizes.assumed_inner = sizes.assumed_inner;
  if (!sizes.contradiction.empty())
    report.sizes.contradictions.push_back(fmt::format("sizes behind opaque nodes do not fit together: {}", sizes.contradiction));
  report.sizes.refused = sizes.refused;
  if (options.warning && problem.name_of) {
    for (const std::string& text : one_by_one_warnings(problem.arena, problem.graph, sizes, problem.name_of)) options.warning(text);
  }
  Session own;
  Session& session = problem.session == nullptr ? own : *problem.session;
  std::optional<rules::VerifiedRules> loaded;
  if (problem.rules == nullptr) {
    auto decided = session.rules(options, limits.search_seconds_left(), [&limits] { return limits.ends_search().has_value(); });
    XFLOW_CHECK(limits.check());
    if (!decided && decided.error().code == ErrorCode::limit) {
      search::Outcome outcome;
      outcome.best = problem.graph;
      outcome.stop = limits.ends_search().value_or(search::StopReason::time_limit);
      report.reason = fmt::format("{}: {}", nothing_found(outcome.stop), decided.error().message);
      report.search.stop_reason = search::name(outcome.stop);
      return outcome;
    }
    XFLOW_TRY(loaded, std::move(decided));
  }
  const rules::VerifiedRules& rules = problem.rules == nullptr ? *loaded : *problem.rules;
  const auto bytes_of_run = [&] { return cost::cpu::bytes_of_run(problem.arena, problem.graph, sizes.valuation()); };
  XFLOW_TRY(DeviceCosts* const opened, session.open(options, bytes_of_run, limits.seconds_left()));
  const DeviceCosts& costs = *opened;
  const StopDevice stop(costs.device(), limits, problem.limits);
  const cost::DeviceInfo& info = costs.device().info();
  report.device = device_text(info);

  cost::CostModel model(problem.arena, costs.device(), *costs.database, sizes.valuation());
  // Measuring is paid once for all models of a machine: it does not shorten the search.
  const auto search_seconds = [&] { return seconds() - model.statistics().measured_seconds; };
  OptimizeProgress state;
  const auto tell = [&](Phase phase) {
    if (!progress) return;
    state.phase = phase;
    state.time = Seconds(seconds());
    state.time_left = Seconds(limits.seconds_left());
    state.fraction = phase == Phase::checking ? limits.fraction() : used_of_budget(options.search, state.states, search_seconds());
    progress(state);
  };
  std::size_t measured = 0;
  model.on_measure([&](const std::string&) {
    if (++measured % 4 == 0) tell(Phase::measuring);
  });

  search::Options search_options;
  search_options.alpha = options.search.alpha;
  search_options.max_growth = options.search.max_growth;
  if (options.search.max_states) search_options.max_states = *options.search.max_states;
  if (options.search.max_time) search_options.max_seconds = options.search.max_time->count();
  if (!options.search.max_states && !options.search.max_time) search_options.max_seconds = kDefaultSeconds;
  search_options.seconds = search_seconds;
  search_options.stop = [&] { return limits.ends_search(); };
  if (problem.can_spell)
    search_options.admissible = [&](const ir::Arena& arena, ir::NodeId node) { return problem.can_spell(arena, node).has_value(); };
  search_options.progress = [&](const search::Progress& p) {
    state.states = p.states;
    state.predicted = {Nanoseconds(p.original.value), Nanoseconds(p.best.value)};
    tell(Phase::searching);
  };
  if (options.validation.gate) search_options.finalists = kFinalists;
  search_options.per_operation = cost::Nanoseconds{kNanosecondsPerOperation};
  search::RuleRewriter rewriter(rules, match_options(options.search.numerics));
  model.allow_again(kShareForAgain * search_options.max_seconds.value_or(kDefaultSeconds));
  const auto checking = [&](const search::Outcome& found) {
    state.states = found.states;
    state.predicted = {Nanoseconds(found.before.value), Nanoseconds(found.after.value)};
    tell(Phase::checking);
  };
  const auto search = [&](const search::Options& search_options) {
    return remeasured_search(problem.arena, problem.graph, model, rewriter, search_options);
  };
  RunInputs at_shapes;
  at_shapes.shapes = {options.input.shapes};
  const RunInputs& runs = problem.runs == nullptr ? at_shapes : *problem.runs;
  search::Outcome outcome = checked_search(problem, runs, search, search_options, checking, report);
  XFLOW_CHECK(limits.check());
  if (problem.moves != nullptr) {
    for (GraphMove& move : *problem.moves) {
      if (limits.is_over()) break;
      XFLOW_TRY(const cost::Cost cost, model.cost(move.part));
      move.gain = cost.time;
    }
  }
  costs.database->flush();
  const cost::CostStatistics& kernels = model.statistics();
  report.kernels = {kernels.measured, kernels.known,       kernels.disturbed,
                    kernels.again,    kernels.provisional, Seconds(kernels.measured_seconds),
                    kernels.samples,  kernels.outliers};
  report.kernels.refused = kernels.refused;
  report.kernels.failed = kernels.failed;
  report.kernels.failure = kernels.failure;
  if (costs.opened_gpu) report.kernels.device_bytes = costs.opened_gpu->peak_bytes();
  if (costs.profile) report.kernels = {.recorded = costs.profile->recorded(), .modelled = costs.profile->modelled()};
  report.predicted = {Nanoseconds(outcome.before.value), Nanoseconds(outcome.after.value)};
  report.search.states = outcome.states;
  report.search.expanded = outcome.expanded;
  report.search.stop_reason = search::name(outcome.stop);
  std::map<std::string_view, std::string> numbers;
  for (std::size_t k = 0; k < rules.size(); ++k) {
    const rules::Rule& rule = rules.rule(static_cast<rules::RuleId>(k));
    numbers.emplace(rule.name, rules::numbers_text(rule));
  }
  for (const auto& [rule, count] : outcome.rules)
    report.search.rules.push_back({rule, count.matched, count.improved, count.applied, numbers[rule]});
  report.constant_bytes.before = outcome.constant_bytes_before;
  report.constant_bytes.after = outcome.constant_bytes_after;
  return outcome;
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

double price_noise(const KernelReport& kernels) {
  constexpr double kLeast = 0.01;
  constexpr double kDisturbed = 0.1;
  const std::uint64_t all = kernels.measured + kernels.known;
  return all == 0 ? kLeast : kLeast + kDisturbed * static_cast<double>(kernels.provisional) / static_cast<double>(all);
}

std::string below_noise(const OptimizeReport& report, std::span<const GraphMove> moves) {
  Nanoseconds before = report.predicted.before;
  for (const GraphMove& move : moves) before += Nanoseconds(move.gain.value);
  const double gain = before > Nanoseconds(0) ? 1 - report.predicted.after / before : 0;
  const double noise = price_noise(report.kernels);
  if (gain >= noise) return {};
  return fmt::format("the predicted gain of {:.2f} % is below the noise of the prices, {:.2f} %", 100 * gain, 100 * noise);
}

bool is_no_slower(const GateReport& run) {
  return run.run && !run.comparisons.empty() && std::ranges::all_of(run.comparisons, [](const auto& c) {
           return c.verdict == GateVerdict::faster || c.verdict == GateVerdict::equal;
         });
}

void keep_original(std::string reason, std::optional<Nanoseconds> predicted, OptimizeReport& report) {
  report.improved = false;
  report.reason = std::move(reason);
  report.predicted.after = predicted.value_or(report.predicted.before);
  report.constant_bytes.after = report.constant_bytes.before;
}

std::function<void()> running(const ProgressCallback& progress, const OptimizeOptions& options, const RunLimits& limits,
                              const OptimizeReport& report) {
  const Seconds budget = options.validation.max_measure_time;
  return [&progress, &limits, &report, budget, start = limits.seconds()] {
    if (!progress) return;
    const double fraction = budget > Seconds(0) ? std::min(1.0, (limits.seconds() - start) / budget.count()) : 1;
    progress(OptimizeProgress{Phase::running, fraction, report.search.states, report.predicted, Seconds(limits.seconds()),
                              Seconds(limits.seconds_left())});
  };
}

}  // namespace xflow::api
