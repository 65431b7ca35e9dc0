#include "src/api/end_to_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "src/api/check_inputs.h"
#include "src/cost/gate.h"
#include "src/cost/runner/runner_executor.h"
#include "src/eval/compare.h"

namespace xflow::api {
namespace {

using cost::runner::NamedTensor;
using cost::runner::RunnerExecutor;

constexpr double kLeastPatience = 1;    // seconds that a runner has for an answer, whatever the budget
constexpr double kStartPatience = 120;  // for its first one: it may load a large runtime
// A runtime may sum in another order and fuse in another way, in half precision more visibly.
constexpr double kTolerance = 1e-2;
constexpr double kTolerance16 = 5e-2;

double tolerance(const eval::Tensor& tensor) {
  return tensor.data_type == ir::DataType::float16 || tensor.data_type == ir::DataType::bfloat16 ? kTolerance16 : kTolerance;
}

}  // namespace

std::vector<std::vector<InputShape>> shape_choices(std::span<const InputShape> shapes) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<InputShape>> by_input;
  std::size_t choices = 1;
  for (const InputShape& shape : shapes) {
    std::vector<InputShape>& same = by_input[shape.input];
    if (same.empty()) order.push_back(shape.input);
    same.push_back(shape);
    choices = std::max(choices, same.size());
  }
  std::vector<std::vector<InputShape>> result(choices);
  for (std::size_t k = 0; k < choices; ++k) {
    for (const std::string& input : order) {
      const std::vector<InputShape>& same = by_input[input];
      result[k].push_back(same[std::min(k, same.size() - 1)]);
    }
  }
  return result;
}

std::string judge(cost::Executor& executor, cost::ProgramId original, cost::ProgramId candidate, std::span<const std::string> sizes,
                  const OptimizeOptions& options, const std::function<void()>& progress, OptimizeReport::EndToEnd& report) {
  cost::GateOptions gate_options;
  gate_options.max_seconds = options.max_measure_seconds;
  gate_options.progress = progress;
  gate_options.sizes.assign(sizes.begin(), sizes.end());
  const cost::GateResult result = cost::gate(executor, original, candidate, sizes.size(), gate_options);
  const cost::DeviceInfo& info = executor.info();
  report.run = true;
  report.reason.clear();
  report.device = fmt::format("{}, {}, {} thread{}", info.library, info.model, info.threads, info.threads == 1 ? "" : "s");
  report.clock = info.clock;
  report.seconds += result.seconds;
  report.comparisons.clear();
  for (const cost::GateComparison& c : result.comparisons) {
    OptimizeReport::EndToEnd::Comparison line;
    line.sizes = sizes[c.sizes];
    line.verdict = cost::name(c.verdict);
    line.pairs = c.pairs;
    line.faster = c.faster;
    line.slower = c.slower;
    line.repeats = static_cast<std::uint64_t>(c.repeats);
    line.ratio = c.ratio;
    line.low = c.low;
    line.high = c.high;
    line.chance = c.chance;
    line.original_nanoseconds = c.original.value;
    line.result_nanoseconds = c.candidate.value;
    line.stop_reason = cost::name(c.stop);
    line.failure = c.failure;
    report.comparisons.push_back(std::move(line));
  }
  return result.reason;
}

RunnerGate::RunnerGate(const OptimizeOptions& options, std::unique_ptr<RunnerExecutor> executor)
    : options_(options), executor_(std::move(executor)) {}
RunnerGate::~RunnerGate() = default;

Result<std::unique_ptr<RunnerGate>> RunnerGate::open(const OptimizeOptions& options) {
  auto executor = RunnerExecutor::open({options.runner, options.threads, kStartPatience});
  if (!executor) return fail(ErrorCode::unsupported, executor.error().text());
  (*executor)->set_patience(std::max(options.max_measure_seconds, kLeastPatience));
  return std::unique_ptr<RunnerGate>(new RunnerGate(options, *std::move(executor)));
}

// Gives the sizes as text.
Result<std::vector<std::string>> RunnerGate::add_inputs(ir::Arena& arena, const ir::Graph& graph, std::span<const NamedInput> inputs) {
  std::vector<std::string> labels;
  for (const std::vector<InputShape>& shapes : shape_choices(options_.shapes)) {
    XFLOW_TRY(const Sizes sizes, choose_fitting_sizes(arena, graph, inputs, shapes));
    XFLOW_TRY(InputSet set, seeded_inputs(arena, inputs, sizes, SeededValues{}));
    std::vector<NamedTensor> tensors;
    tensors.reserve(inputs.size());
    for (const NamedInput& input : inputs) {
      std::string name(input.name);
      tensors.push_back({name, std::move(set.tensors.at(name))});
    }
    executor_->add_inputs(std::move(tensors));
    labels.push_back(sizes_text(arena, inputs, sizes.values));
  }
  return labels;
}

std::string RunnerGate::compare_outputs(cost::ProgramId original, cost::ProgramId candidate, std::span<const std::string> sizes) {
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const auto failed = [&](std::string_view who, const Error& error) {
      return fmt::format("it could not be compared at {}: {}: {}", sizes[k], who, error.text());
    };
    const auto a = executor_->outputs(original, k);
    if (!a) return failed("original", a.error());
    // What changes from run to run (random numbers, sums whose order is open) is no difference.
    const auto again = executor_->outputs(original, k);
    if (!again) return failed("original", again.error());
    const auto b = executor_->outputs(candidate, k);
    if (!b) return failed("candidate", b.error());
    if (a->size() != b->size() || a->size() != again->size()) return fmt::format("it has {} outputs instead of {}", b->size(), a->size());
    for (std::size_t i = 0; i < a->size(); ++i) {
      const eval::Comparison comparison =
          eval::compare((*a)[i].tensor, (*again)[i].tensor, (*b)[i].tensor, eval::Tolerance{4, tolerance((*a)[i].tensor)});
      if (!comparison.agrees)
        return fmt::format("it computes something else there: output '{}' is {} at {}", (*a)[i].name, comparison.reason, sizes[k]);
    }
  }
  return {};
}

std::string RunnerGate::judge(ir::Arena& arena, const ir::Graph& graph, std::span<const NamedInput> inputs, const Model& original,
                              const Model& candidate, const std::function<void()>& progress, OptimizeReport::EndToEnd& report) {
  const auto sizes = add_inputs(arena, graph, inputs);
  if (!sizes) return report.reason = "there are no inputs to run it on: " + sizes.error().text();
  const cost::ProgramId a = executor_->add({original.bytes, original.path});
  const cost::ProgramId b = executor_->add({candidate.bytes, candidate.path});
  std::string against = compare_outputs(a, b, *sizes);
  if (against.empty()) {
    against = api::judge(*executor_, a, b, *sizes, options_, progress, report);
  } else {
    report.reason = against;
  }
  executor_->remove(a);
  executor_->remove(b);
  return against;
}

}  // namespace xflow::api
