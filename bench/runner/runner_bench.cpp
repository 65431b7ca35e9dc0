// What models cost in a runner, predicted from kernels that were timed there and run as a whole: for each model under XFLOW_TEST_MODELS in
// the runner of XFLOW_BENCH_RUNNER (a command of the shell), on seeded inputs.
//
// Counters: predicted_us (the sum of the kernels), executed_us (a run of the model less that of a model with one kernel that does nothing:
// what the runtime takes for a run as such is in no kernel; the median of 25), error_percent (of the prediction), unmeasured (launches
// that the runner cannot run alone, in no prediction), with_interference (of the timed kernels, how many while the machine was slowed by
// something else), timed (kernels), timed_s (seconds that this took). With XFLOW_BENCH_COSTS=FILE costs are kept there. With
// XFLOW_BENCH_COVER=1 the inputs and the cover are printed, which bench/runner/nodes_ort.py compares with nodes.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "src/cost/cost_model.h"
#include "src/devices/runner/kernel_model.h"
#include "src/devices/runner/runner_device.h"
#include "src/devices/runner/runner_executor.h"
#include "src/kernels/node_launch.h"
#include "src/onnx/document/document.h"
#include "src/onnx/lift/lift.h"
#include "src/ops/kernel_text.h"
#include "src/validation/check_inputs.h"
#include "src/validation/sizes.h"

namespace xflow {
namespace {

using cost::NamedTensor;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

struct Timed {
  cost::Cost cost;
  cost::CostStatistics statistics;
  double executed = 0;  // nanoseconds
};

// Two programs interleaved; what the first takes more: as kernels are timed, so that interference meets both.
Result<double> time_beyond(cost::runner::RunnerExecutor& executor, cost::ProgramId program, cost::ProgramId empty) {
  constexpr int kRuns = 25;
  std::vector<double> more;
  for (int k = 0; k < kRuns; ++k) {
    XFLOW_TRY(const cost::RunTimes one, executor.run(program, 0, 5));
    XFLOW_TRY(const cost::RunTimes other, executor.run(empty, 1, 20));
    more.push_back(one.time.count() - other.time.count());
  }
  std::ranges::sort(more);
  return more[kRuns / 2];
}

Result<Timed> time_model(const std::string& path) {
  Timed timed;
  const cost::runner::RunnerOptions runner{environment("XFLOW_BENCH_RUNNER"), 1, 120};
  if (runner.command.empty()) return fail(ErrorCode::invalid_argument, "XFLOW_BENCH_RUNNER has no command");
  ir::Arena arena;
  XFLOW_TRY(const onnx_io::Document document, onnx_io::Document::open(path));
  XFLOW_TRY(const onnx_io::LiftedModel model, onnx_io::lift(document, arena));
  std::vector<api::NamedInput> inputs;
  for (std::size_t k = 0; k < model.inputs.size(); ++k) inputs.push_back({model.input_names[k], model.inputs[k]});
  XFLOW_TRY(const api::Sizes sizes, api::choose_fitting_sizes(arena, model.graph, inputs, {}));
  XFLOW_TRY(const auto device, cost::runner::RunnerDevice::open({runner}));
  cost::Database database = cost::Database::open(environment("XFLOW_BENCH_COSTS"), device->info());
  cost::CostModel costs(arena, *device, database, sizes.valuation());
  XFLOW_TRY(timed.cost, costs.cost(model.graph));
  timed.statistics = costs.statistics();
  if (!environment("XFLOW_BENCH_COVER").empty()) {
    XFLOW_TRY(const std::vector<cost::CoveredRegion> regions, costs.explain(model.graph));
    for (const api::NamedInput& input : inputs) {
      if (const auto tensor = cost::tensor_of(arena, input.value, sizes.valuation()))
        fmt::print("input {} {} [{}]\n", input.name, ir::name(tensor->data_type), fmt::join(tensor->dims, ","));
    }
    for (const cost::CoveredRegion& region : regions)
      fmt::print("kernel {} {}\n", region.measured ? fmt::format("{:.0f}", region.cost.median.count()) : "-",
                 region.measured ? region.kernel : region.measured.reason);
  }
  XFLOW_TRY(const auto executor, cost::runner::RunnerExecutor::open(runner));
  XFLOW_TRY(api::InputSet set, api::seeded_inputs(arena, inputs, sizes, {}));
  std::vector<NamedTensor> tensors;
  for (const api::NamedInput& input : inputs) tensors.push_back({std::string(input.name), set.tensors.at(std::string(input.name))});
  executor->add_inputs(std::move(tensors));
  XFLOW_TRY(const ops::KernelSpec relu, ops::parse_kernel("pointwise/relu(float32[1]) -> float32[1]"));
  XFLOW_TRY(const cost::runner::TimedModel nothing, cost::runner::kernel_model(relu, 1, 1, cost::runner::Arrangement::chain));
  executor->add_inputs(nothing.inputs);
  const cost::ProgramId whole = executor->add({{}, std::filesystem::absolute(path).string()});
  XFLOW_TRY(timed.executed, time_beyond(*executor, whole, executor->add({nothing.bytes, {}})));
  return timed;
}

void runner_model(benchmark::State& state, const std::string& path) {
  // Google Benchmark calls a benchmark several times for one figure.
  static std::map<std::string, Result<Timed>> known;
  if (!known.contains(path)) known.emplace(path, time_model(path));
  const Result<Timed>& timed = known.at(path);
  if (!timed) return state.SkipWithError(timed.error().text().c_str());
  for (auto _ : state) benchmark::DoNotOptimize(timed);
  state.counters["predicted_us"] = timed->cost.time.count() / 1e3;
  state.counters["executed_us"] = timed->executed / 1e3;
  state.counters["error_percent"] = 100 * (timed->cost.time.count() / timed->executed - 1);
  state.counters["unmeasured"] = static_cast<double>(timed->cost.unmeasured);
  state.counters["with_interference"] = static_cast<double>(timed->statistics.with_interference);
  state.counters["timed"] = static_cast<double>(timed->statistics.measured);
  state.counters["timed_s"] = timed->statistics.measured_seconds;
}

// Registers a benchmark a model when the program starts.
const bool registered = [] {
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator(environment("XFLOW_TEST_MODELS"), none)) {
    if (file.path().extension() != ".onnx") continue;
    const std::string path = file.path().string();
    benchmark::RegisterBenchmark(("RunnerCost/" + file.path().stem().string()).c_str(), [path](benchmark::State& state) {
      runner_model(state, path);
    })->Iterations(1);
  }
  return true;
}();

}  // namespace
}  // namespace xflow
