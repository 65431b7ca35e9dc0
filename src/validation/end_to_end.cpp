#include "src/validation/end_to_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "src/devices/device_costs.h"
#include "src/devices/own/own_executor.h"
#include "src/devices/runner/runner_executor.h"
#include "src/eval/compare.h"
#include "src/validation/check_inputs.h"
#include "src/validation/gate.h"

namespace xflow::api {
namespace {

using cost::NamedTensor;
using cost::runner::RunnerExecutor;

// A runtime may change the order of sums and fuse operators differently. The differences are larger in half
// precision.
constexpr double kTolerance = 1e-2;
constexpr double kTolerance16 = 5e-2;

double tolerance(const eval::Tensor& tensor) {
  return tensor.data_type == ir::DataType::float16 || tensor.data_type == ir::DataType::bfloat16 ? kTolerance16 : kTolerance;
}

PairedTimes times_of(const cost::GateTimes& times) {
  return {times.faster,  times.slower,        times.ratio,    times.low,      times.high,
          times.p_value, times.confirmations, times.original, times.candidate};
}

// A candidate that was not measured to be faster before an interruption is rejected.
Acceptance unless_interrupted(const RunLimits& limits, Acceptance acceptance) {
  if (acceptance || !limits.was_interrupted_in_gate()) return acceptance;
  return refused("it was interrupted before it was measured to be faster");
}

}  // namespace

Acceptance judge(cost::Executor& executor, cost::ProgramId original, cost::ProgramId candidate, std::span<const std::string> sizes,
                 const OptimizeOptions& options, const RunLimits& limits, const std::function<void()>& progress, GateReport& report) {
  cost::GateOptions gate_options;
  gate_options.max_seconds = std::min(options.validation.max_measure_time.count(), report.time.count() + limits.seconds_left());
  limits.begin_gate();
  gate_options.stop = [&limits] { return limits.ends_gate(); };
  // Bonferroni correction: if all finalists are equal to the original, the probability that one passes is at
  // most `level`.
  gate_options.level /= static_cast<double>(kFinalists);
  gate_options.used_seconds = report.time.count();
  gate_options.progress = progress;
  gate_options.sizes.assign(sizes.begin(), sizes.end());
  const cost::GateResult result = cost::gate(executor, original, candidate, sizes.size(), gate_options);
  const cost::DeviceInfo& info = executor.info();
  report.run = true;
  report.reason.clear();
  report.device = fmt::format("{}, {}, {} thread{}", info.library, info.model, info.threads, info.threads == 1 ? "" : "s");
  report.clock = executor.clock();
  report.time += Seconds(result.seconds);
  report.comparisons.clear();
  for (const cost::GateComparison& c : result.comparisons) {
    GateComparison line;
    line.sizes = sizes[c.sizes];
    line.verdict = c.verdict;
    line.pairs = c.pairs;
    line.repeats = static_cast<std::uint64_t>(c.repeats);
    static_cast<PairedTimes&>(line) = times_of(c);
    if (c.processor) line.processor = times_of(*c.processor);
    line.stop_reason = c.stop;
    line.failure = c.failure;
    report.comparisons.push_back(std::move(line));
  }
  return unless_interrupted(limits, result.passed ? accepted() : refused(result.reason));
}

void list_declared(const GateReport& trial, std::size_t values, const Acceptance& acceptance, GateReport& report) {
  report.time = trial.time;
  if (!acceptance) {
    report.others.push_back(
        fmt::format("with the shapes of {} values declared, compared with the result without: {}", values, acceptance.reason));
    return;
  }
  report.declared = fmt::format("{}", values);
  for (const GateComparison& c : trial.comparisons)
    report.declared += fmt::format(", {:.3f} of the time without [{:.3f}, {:.3f}] in {} pairs", c.ratio, c.low, c.high, c.pairs);
}

Acceptance compare_outputs(const std::function<Result<std::vector<eval::Tensor>>(cost::ProgramId, RunChoice)>& outputs,
                           const std::function<std::string(std::size_t)>& name_of, cost::ProgramId original, cost::ProgramId candidate,
                           std::span<const std::string> sizes) {
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const auto failed = [&](std::string_view who, const Error& error) {
      return refused(fmt::format("it could not be compared at {}: {}: {}", sizes[k], who, error.text()));
    };
    const auto a = outputs(original, {k});
    if (!a) return failed("original", a.error());
    // Differences between two runs of the original (random numbers, sums in an open order) are allowed.
    const auto repeated = outputs(original, {k});
    if (!repeated) return failed("original", repeated.error());
    const auto b = outputs(candidate, {k});
    if (!b) return failed("candidate", b.error());
    if (a->size() != b->size() || a->size() != repeated->size())
      return refused(fmt::format("it has {} outputs instead of {}", b->size(), a->size()));
    std::optional<Result<std::vector<eval::Tensor>>> nearby;
    for (std::size_t i = 0; i < a->size(); ++i) {
      const eval::Tolerance allowed{4, tolerance((*a)[i])};
      eval::Comparison comparison = eval::compare((*a)[i], (*repeated)[i], (*b)[i], allowed);
      if (comparison.agrees) continue;
      // Differences caused by rounding alone are allowed, too: an output may be close to 0 or a step
      // function.
      if (!nearby) nearby = outputs(original, {k, true});
      if (*nearby && (*nearby)->size() == a->size()) {
        eval::Comparison wider = eval::compare((*a)[i], (**nearby)[i], (*b)[i], allowed);
        if (wider.agrees) continue;
        if (wider.allowed > comparison.allowed) comparison = std::move(wider);
      }
      return refused(
          fmt::format("its outputs differ from the original's: output '{}' is {} at {}", name_of(i), comparison.reason, sizes[k]));
    }
  }
  return accepted();
}

RunnerGate::RunnerGate(const OptimizeOptions& options, const RunInputs& runs, const RunLimits& limits,
                       std::unique_ptr<cost::ModelExecutor> executor)
    : options_(options), runs_(runs), limits_(limits), executor_(std::move(executor)) {}
RunnerGate::~RunnerGate() = default;

Result<std::unique_ptr<RunnerGate>> RunnerGate::open(const OptimizeOptions& options, const RunInputs& runs, const RunLimits& limits) {
  if (options.device.runner.empty()) {
    auto own = std::make_unique<cost::own::OwnExecutor>(options.device.own, options.device.threads);
    return std::unique_ptr<RunnerGate>(new RunnerGate(options, runs, limits, std::move(own)));
  }
  auto executor = RunnerExecutor::open({options.device.runner, options.device.threads, start_patience(options, limits.seconds_left()),
                                        [&limits] { return limits.ends_gate(); }, [&limits] { return limits.bytes_left(); },
                                        [cancel = options.cancel] { return cancel.is_finishing(); }, hurried_patience(options)});
  if (!executor) return fail(error_of_start(executor.error()));
  (*executor)->set_patience(std::max(options.validation.max_measure_time.count(), kLeastPatience));
  return std::unique_ptr<RunnerGate>(new RunnerGate(options, runs, limits, *std::move(executor)));
}

// Adds the inputs to the executor and returns the sizes as text.
Result<std::vector<std::string>> RunnerGate::add_inputs(ir::Arena& arena, const ir::Graph& graph, std::span<const NamedInput> inputs,
                                                        std::span<const NamedInput> required) {
  std::vector<std::string> labels;
  std::vector<std::vector<NamedTensor>> perturbed_inputs;  // appended after the inputs of all choices
  for (std::size_t k = 0; k < runs_.shapes.size(); ++k) {
    XFLOW_TRY(const Sizes sizes, choose_fitting_sizes(arena, graph, inputs, runs_.shapes[k], runs_.inner));
    std::vector<NamedInput> wanted(required.begin(), required.end());
    for (const NamedInput& input : inputs) {
      const bool given = !runs_.sets.empty() && runs_.sets[k].tensors.contains(std::string(input.name));
      if (given && std::ranges::find(required, input.value, &NamedInput::value) == required.end()) wanted.push_back(input);
    }
    XFLOW_TRY(InputSet set, runs_.values(arena, wanted, k, sizes));
    std::vector<NamedTensor> tensors;
    std::vector<NamedTensor>& changed = perturbed_inputs.emplace_back();
    tensors.reserve(wanted.size());
    for (const NamedInput& input : wanted) {
      std::string name(input.name);
      eval::Tensor& tensor = set.tensors.at(name);
      XFLOW_TRY(eval::Tensor other, perturbed(tensor, kPerturbationSeed));
      changed.push_back({name, std::move(other)});
      tensors.push_back({name, std::move(tensor)});
    }
    executor_->add_inputs(std::move(tensors));
    labels.push_back(runs_.label(arena, inputs, k, sizes));
  }
  for (std::vector<NamedTensor>& tensors : perturbed_inputs) executor_->add_inputs(std::move(tensors));
  return labels;
}

Acceptance RunnerGate::judge(ir::Arena& arena, const ir::Graph& graph, std::span<const NamedInput> inputs,
                             std::span<const NamedInput> required, const Model& original, const Model& candidate,
                             const std::function<void()>& progress, GateReport& report) {
  report.run = false;
  report.comparisons.clear();
  limits_.begin_gate();
  if (limits_.was_interrupted_before_gate()) executor_->set_patience(hurried_patience(options_));
  if (sizes_.empty()) {
    auto sizes = add_inputs(arena, graph, inputs, required);
    if (!sizes) return refused(report.reason = "there are no inputs to run it on: " + sizes.error().text());
    sizes_ = *std::move(sizes);
  }
  const cost::ProgramId a = executor_->add({original.bytes, original.path});
  const cost::ProgramId b = executor_->add({candidate.bytes, candidate.path});
  std::vector<std::string> names;
  const auto outputs = [&](cost::ProgramId program, RunChoice choice) -> Result<std::vector<eval::Tensor>> {
    XFLOW_TRY(std::vector<NamedTensor> named, executor_->outputs(program, choice.sizes + (choice.perturbed ? sizes_.size() : 0)));
    std::vector<eval::Tensor> tensors;
    names.clear();
    for (NamedTensor& output : named) {
      names.push_back(std::move(output.name));
      tensors.push_back(std::move(output.tensor));
    }
    return tensors;
  };
  Acceptance acceptance = compare_outputs(
      outputs, [&](std::size_t k) { return names[k]; }, a, b, sizes_);
  acceptance = unless_interrupted(limits_, std::move(acceptance));
  if (acceptance) {
    acceptance = api::judge(*executor_, a, b, sizes_, options_, limits_, progress, report);
  } else {
    report.reason = acceptance.reason;
  }
  executor_->remove(a);
  executor_->remove(b);
  return acceptance;
}

}  // namespace xflow::api
