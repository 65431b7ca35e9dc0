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
#include "src/optimizer/settled_search.h"
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

std::string device_text(const cost::DeviceInfo& info) {
  return fmt::format("{}: {}, {} thread{}, {}", info.name, info.model, info.threads, info.threads == 1 ? "" : "s", info.library);
}

void open_database(const OptimizeOptions& options, DeviceCosts& costs) {
  // A profile is its own record; what its model says is no measurement.
  costs.database = std::make_unique<cost::Database>(cost::Database::open(costs.profile ? "" : options.cost_database, costs.device().info(),
                                                                         [warning = options.warning](const std::string& text) {
                                                                           if (warning) warning(text);
                                                                         }));
}

}  // namespace

bool is_elsewhere(const OptimizeOptions& options) {
  const DeviceKind* kind = find_device_kind(options.device);
  return kind != nullptr && !kind->runs_graphs && options.runner.empty();
}

std::string why_not_run(const OptimizeOptions& options, std::string_view what, std::string_view option) {
  if (is_elsewhere(options)) return "nothing was run on the device: all times are predicted";
  return fmt::format("the whole {} was not timed, its time is predicted: {}", what, option);
}

Result<rules::VerifiedRules> load_rules(const OptimizeOptions& options, double seconds, std::function<bool()> stop) {
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
    if (is_new) {
      if (auto records = verifier::read_records(verifier::records_path(rule.file))) file->second = *std::move(records);
    }
    // A record that does not fit says nothing of the rule: it is decided then.
    const verifier::RuleRecord* record = file->second.find(rule.hash);
    if (record != nullptr && verifier::replay(rule, *record)) return true;
    const verifier::RuleDecision decision = verifier::decide(rule, deciding);
    explanation = decision.explanation();
    if (decision.verdict == verifier::Verdict::timeout && verifier::is_over(deciding.deadline)) undecided = rule.name;
    return decision.verdict == verifier::Verdict::proved;
  });
  const auto explained = [&](Result<void> result) -> Result<void> {
    if (!result && !undecided.empty()) return fail(ErrorCode::limit, fmt::format("rule {} was not decided in time", undecided));
    if (!result && result.error().code == ErrorCode::not_proved && !explanation.empty()) result.error().message += ": " + explanation;
    return result;
  };
  if (options.rules.empty()) {
    // A build has the records of all of them, but without Z3 of those that can be replayed without it.
    for (const ShippedFile& file : shipped_rule_files()) XFLOW_CHECK(rules.add_known(file.text, file.name));
  }
  for (const std::string& path : options.rules) XFLOW_CHECK(explained(rules.add_path(path)));
  for (const std::string& name : options.skip_rules) XFLOW_CHECK(rules.skip(name));
  return rules;
}

Result<search::Outcome> improve(const Problem& problem, const OptimizeOptions& options, const ProgressCallback& progress,
                                OptimizeReport& report) {
  const RunLimits unlimited;
  const RunLimits& limits = problem.limits == nullptr ? unlimited : *problem.limits;
  const auto seconds = [&] { return limits.seconds(); };
  if (!(options.alpha >= 1)) return fail(ErrorCode::invalid_argument, "alpha must be at least 1");
  if (options.numbers != "exact" && options.numbers != "rounding" && options.numbers != "any")
    return fail(ErrorCode::invalid_argument, fmt::format("numbers must be exact, rounding or any, found '{}'", options.numbers));
  if (options.numbers == "exact" && options.fast_math) return fail(ErrorCode::invalid_argument, "numbers = exact excludes fast_math");
  if (!(options.max_growth >= 0)) return fail(ErrorCode::invalid_argument, "max_growth must not be negative");
  if (options.threads < 1 || options.threads > kMostThreads)
    return fail(ErrorCode::invalid_argument, fmt::format("{} threads are not in the range 1 to {}", options.threads, kMostThreads));
  const InnerSizes inner = problem.runs == nullptr ? InnerSizes() : problem.runs->inner;
  XFLOW_TRY(const Sizes sizes, choose_fitting_sizes(problem.arena, problem.graph, problem.inputs, options.shapes, inner));
  report.assumed_sizes = sizes.assumed;
  report.assumed_inner_sizes = sizes.assumed_inner;
  if (!sizes.contradiction.empty())
    report.contradictions.push_back(fmt::format("sizes behind opaque nodes do not fit together: {}", sizes.contradiction));
  report.refused_sizes = sizes.refused;
  if (options.warning && problem.name_of) {
    for (const std::string& text : one_by_one_warnings(problem.arena, problem.graph, sizes, problem.name_of)) options.warning(text);
  }
  std::optional<rules::VerifiedRules> loaded;
  if (problem.rules == nullptr) {
    auto decided = load_rules(options, limits.search_seconds_left(), [&limits] { return limits.ends_search().has_value(); });
    XFLOW_CHECK(limits.check());
    if (!decided && decided.error().code == ErrorCode::limit) {
      search::Outcome outcome;
      outcome.best = problem.graph;
      outcome.stop = limits.ends_search().value_or(search::StopReason::time_limit);
      report.reason = fmt::format("{}: {}", nothing_found(outcome.stop), decided.error().message);
      report.stop_reason = search::name(outcome.stop);
      return outcome;
    }
    XFLOW_TRY(loaded, std::move(decided));
  }
  const rules::VerifiedRules& rules = problem.rules == nullptr ? *loaded : *problem.rules;
  DeviceCosts own;
  DeviceCosts& costs = problem.costs == nullptr ? own : *problem.costs;
  XFLOW_CHECK(costs.open(
      options, [&] { return cost::cpu::bytes_of_run(problem.arena, problem.graph, sizes.valuation()); }, limits.seconds_left()));
  const StopDevice stop(costs.device(), limits, problem.limits);
  const cost::DeviceInfo& info = costs.device().info();
  report.device = device_text(info);
  open_database(options, costs);

  OptimizeProgress state;
  const auto tell = [&](std::string_view phase) {
    if (!progress) return;
    state.phase = phase;
    state.seconds = seconds();
    state.seconds_left = limits.seconds_left();
    progress(state);
  };
  cost::CostModel model(problem.arena, costs.device(), *costs.database, sizes.valuation());
  std::size_t measured = 0;
  model.on_measure([&](const std::string&) {
    if (++measured % 4 == 0) tell("measuring");
  });

  search::Options search_options;
  search_options.alpha = options.alpha;
  search_options.max_growth = options.max_growth;
  if (options.max_states) search_options.max_states = *options.max_states;
  search_options.max_seconds = options.max_seconds;
  if (!options.max_states && !options.max_seconds) search_options.max_seconds = kDefaultSeconds;
  // Measuring is paid once for all models of a machine: it does not shorten the search.
  search_options.seconds = [&] { return seconds() - model.statistics().measured_seconds; };
  search_options.stop = [&] { return limits.ends_search(); };
  if (problem.can_spell)
    search_options.admissible = [&](const ir::Arena& arena, ir::NodeId node) { return problem.can_spell(arena, node).has_value(); };
  search_options.progress = [&](const search::Progress& p) {
    state.states = p.states;
    state.original_nanoseconds = p.original.value;
    state.best_nanoseconds = p.best.value;
    tell("searching");
  };
  if (options.gate) search_options.finalists = kFinalists;
  search_options.per_operation = cost::Nanoseconds{kNanosecondsPerOperation};
  search::RuleRewriter rewriter(rules, rules::MatchOptions{options.fast_math || options.numbers == "any", options.numbers == "exact"});
  model.allow_again(kShareForAgain * search_options.max_seconds.value_or(kDefaultSeconds));
  const auto checking = [&](const search::Outcome& found) {
    state.states = found.states;
    state.original_nanoseconds = found.before.value;
    state.best_nanoseconds = found.after.value;
    tell("checking");
  };
  const auto search = [&](const search::Options& search_options) {
    return settled_search(problem.arena, problem.graph, model, rewriter, search_options);
  };
  RunInputs at_shapes;
  at_shapes.shapes = {options.shapes};
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
  report.kernels = {kernels.measured,         kernels.known,   kernels.disturbed, kernels.again, kernels.provisional,
                    kernels.measured_seconds, kernels.samples, kernels.outliers};
  report.kernels.refused = kernels.refused;
  report.kernels.failed = kernels.failed;
  report.kernels.failure = kernels.failure;
  if (costs.opened_gpu) report.kernels.device_bytes = costs.opened_gpu->peak_bytes();
  if (costs.profile) report.kernels = {.recorded = costs.profile->recorded(), .modelled = costs.profile->modelled()};
  report.before_nanoseconds = outcome.before.value;
  report.after_nanoseconds = outcome.after.value;
  report.states = outcome.states;
  report.expanded = outcome.expanded;
  report.stop_reason = search::name(outcome.stop);
  std::map<std::string_view, std::string> numbers;
  for (std::size_t k = 0; k < rules.size(); ++k) {
    const rules::Rule& rule = rules.rule(static_cast<rules::RuleId>(k));
    numbers.emplace(rule.name, rules::numbers_text(rule));
  }
  for (const auto& [rule, count] : outcome.rules)
    report.rules.push_back({rule, count.matched, count.improved, count.applied, numbers[rule]});
  report.constant_bytes_before = outcome.constant_bytes_before;
  report.constant_bytes_after = outcome.constant_bytes_after;
  return outcome;
}

Result<void> open_costs(const Problem& problem, const OptimizeOptions& options, DeviceCosts& costs) {
  XFLOW_TRY(const Sizes sizes,
            choose_fitting_sizes(problem.arena, problem.graph, problem.inputs, problem.runs->shapes[0], problem.runs->inner));
  const auto bytes_of_run = [&] { return cost::cpu::bytes_of_run(problem.arena, problem.graph, sizes.valuation()); };
  const double seconds_left = problem.limits == nullptr ? std::numeric_limits<double>::infinity() : problem.limits->seconds_left();
  XFLOW_CHECK(costs.open(options, bytes_of_run, seconds_left));
  if (problem.limits != nullptr) end_with(costs.device(), *problem.limits);
  open_database(options, costs);
  return {};
}

double price_noise(const OptimizeReport::Kernels& kernels) {
  constexpr double kLeast = 0.01;
  constexpr double kDisturbed = 0.1;
  const std::uint64_t all = kernels.measured + kernels.known;
  return all == 0 ? kLeast : kLeast + kDisturbed * static_cast<double>(kernels.provisional) / static_cast<double>(all);
}

std::string below_noise(const OptimizeReport& report, std::span<const GraphMove> moves) {
  double before = report.before_nanoseconds;
  for (const GraphMove& move : moves) before += move.gain.value;
  const double gain = before > 0 ? 1 - report.after_nanoseconds / before : 0;
  const double noise = price_noise(report.kernels);
  if (gain >= noise) return {};
  return fmt::format("the predicted gain of {:.2f} % is below the noise of the prices, {:.2f} %", 100 * gain, 100 * noise);
}

bool is_no_slower(const OptimizeReport::EndToEnd& run) {
  return run.run && !run.comparisons.empty() &&
         std::ranges::all_of(run.comparisons, [](const auto& c) { return c.verdict == "faster" || c.verdict == "equal"; });
}

void keep_original(std::string reason, std::optional<double> predicted, OptimizeReport& report) {
  report.improved = false;
  report.reason = std::move(reason);
  report.after_nanoseconds = predicted.value_or(report.before_nanoseconds);
  report.constant_bytes_after = report.constant_bytes_before;
}

std::function<void()> running(const ProgressCallback& progress, const RunLimits& limits, const OptimizeReport& report) {
  return [&progress, &limits, &report] {
    if (!progress) return;
    progress(OptimizeProgress{"running", report.states, report.before_nanoseconds, report.after_nanoseconds, limits.seconds(),
                              limits.seconds_left()});
  };
}

}  // namespace xflow::api
