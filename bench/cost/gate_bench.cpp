// Whether models end slower than they began: with XFLOW_BENCH_GATES=N each model under XFLOW_TEST_MODELS is optimised N times with the
// gate, 500 graphs each and costs timed again (or with XFLOW_BENCH_COSTS=FILE kept there), on this CPU or, with XFLOW_BENCH_RUNNER=COMMAND,
// in a runner. What was shipped is then run against the original once more, in another order and with the same costs, by the same test;
// where it does not pass again, the original is run against it: where that passes, the result is slower.
//
// Counters: shipped (of the N results, how many are not the original), faster, equal and slower (of these, what the second run found) and
// worst (the largest ratio of the times of a result and the original). The time of the benchmark means nothing.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "bench/cost/lifted.h"
#include "src/cost/cost_model.h"
#include "src/devices/cpu/cpu_device.h"
#include "src/devices/cpu/cpu_executor.h"
#include "src/devices/cpu/footprint.h"
#include "src/devices/cpu/program.h"
#include "src/devices/runner/runner_executor.h"
#include "src/validation/gate.h"
#include "xflow/optimize.h"

namespace xflow {
namespace {

constexpr std::uint64_t kStates = 500;
constexpr std::uint64_t kOtherSeed = 2;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

// What the gate finds in either direction.
cost::GateComparison judge(cost::Executor& executor, cost::ProgramId original, cost::ProgramId result) {
  cost::GateOptions options;
  options.seed = kOtherSeed;
  cost::GateComparison forth = cost::gate(executor, original, result, 1, options).comparisons.front();
  if (forth.verdict == cost::GateVerdict::faster || forth.verdict == cost::GateVerdict::failed) return forth;
  const cost::GateResult back = cost::gate(executor, result, original, 1, options);
  forth.verdict = back.passed ? cost::GateVerdict::slower : cost::GateVerdict::equal;
  return forth;
}

Result<cost::GateComparison> judge_on_cpu(const std::string& original, const std::string& result) {
  XFLOW_TRY(const std::unique_ptr<Lifted> first, lift(original));
  XFLOW_TRY(const std::unique_ptr<Lifted> second, lift(result));
  cost::cpu::CpuOptions options;
  options.cache_footprint =
      cost::cpu::cache_footprint_for(cost::cpu::bytes_of_run(first->arena, first->model.graph, first->sizes->valuation()), options.threads);
  XFLOW_TRY(const std::unique_ptr<cost::cpu::CpuDevice> device, cost::cpu::open_cpu_device(options));
  cost::Database database = cost::Database::open(environment("XFLOW_BENCH_COSTS"), device->info());
  cost::cpu::CpuExecutor executor(*device);
  std::map<std::string, std::string> chosen;
  std::vector<cost::ProgramId> ids;
  for (Lifted* lifted : {first.get(), second.get()}) {
    cost::CostModel costs(lifted->arena, *device, database, lifted->sizes->valuation());
    XFLOW_TRY(const std::vector<cost::CoveredLaunch> cover, costs.launches(lifted->model.graph));
    const cost::Plan plan = cost::make_plan(lifted->arena, lifted->model.graph, cover, lifted->sizes->valuation());
    const auto make = [&, lifted, plan]() -> Result<std::vector<cost::cpu::Program>> {
      cost::cpu::ProgramOptions program_options;
      program_options.chosen = &chosen;
      std::vector<cost::cpu::Program> programs;
      XFLOW_TRY(cost::cpu::Program program,
                cost::cpu::Program::build(*device, lifted->arena, plan, lifted->sizes->valuation(), program_options));
      for (const api::NamedInput& input : lifted->inputs)
        XFLOW_CHECK(program.write(input.value, lifted->set.tensors.at(std::string(input.name))));
      programs.push_back(std::move(program));
      return programs;
    };
    XFLOW_TRY(ids.emplace_back(), executor.add(make));
  }
  return judge(executor, ids[0], ids[1]);
}

Result<cost::GateComparison> judge_in_runner(const std::string& original, const std::string& result) {
  XFLOW_TRY(const std::unique_ptr<Lifted> lifted, lift(original));
  XFLOW_TRY(const auto executor, cost::runner::RunnerExecutor::open({environment("XFLOW_BENCH_RUNNER"), 1, 120}));
  std::vector<cost::NamedTensor> tensors;
  for (const api::NamedInput& input : lifted->inputs)
    tensors.push_back({std::string(input.name), lifted->set.tensors.at(std::string(input.name))});
  executor->add_inputs(std::move(tensors));
  const cost::ProgramId first = executor->add({{}, std::filesystem::absolute(original).string()});
  return judge(*executor, first, executor->add({{}, result}));
}

struct Tally {
  int shipped = 0;
  int faster = 0;
  int equal = 0;
  int slower = 0;
  double worst = 0;
};

Result<Tally> tally(const std::string& path, int repeats) {
  Tally counted;
  const std::string output = (std::filesystem::temp_directory_path() / fmt::format("xflow-bench-{}.onnx", getpid())).string();
  for (int k = 0; k < repeats; ++k) {
    OptimizeOptions options;
    options.search.max_states = kStates;
    options.device.runner = environment("XFLOW_BENCH_RUNNER");
    options.device.cost_database = environment("XFLOW_BENCH_COSTS");
    XFLOW_TRY(const OptimizeReport report, optimize_file(path, output, options));
    if (!report.improved) continue;
    ++counted.shipped;
    XFLOW_TRY(const cost::GateComparison confirmation,
              options.device.runner.empty() ? judge_on_cpu(path, output) : judge_in_runner(path, output));
    if (confirmation.verdict == cost::GateVerdict::failed) return fail(ErrorCode::internal, confirmation.failure);
    if (confirmation.verdict == cost::GateVerdict::faster) ++counted.faster;
    if (confirmation.verdict == cost::GateVerdict::equal) ++counted.equal;
    if (confirmation.verdict == cost::GateVerdict::slower) ++counted.slower;
    counted.worst = std::max(counted.worst, confirmation.ratio);
  }
  std::error_code none;
  std::filesystem::remove(output, none);
  return counted;
}

void gates(benchmark::State& state, const std::string& path, int repeats) {
  Result<Tally> counted = Tally();
  for (auto _ : state) counted = tally(path, repeats);
  if (!counted) return state.SkipWithError(counted.error().text().c_str());
  state.counters["shipped"] = counted->shipped;
  state.counters["faster"] = counted->faster;
  state.counters["equal"] = counted->equal;
  state.counters["slower"] = counted->slower;
  state.counters["worst"] = counted->worst;
}

const bool registered = [] {
  const std::string repeats = environment("XFLOW_BENCH_GATES");
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator(environment("XFLOW_TEST_MODELS"), none)) {
    if (repeats.empty() || file.path().extension() != ".onnx") continue;
    benchmark::RegisterBenchmark(
        ("Gate/" + file.path().stem().string()).c_str(),
        [path = file.path().string(), n = std::atoi(repeats.c_str())](benchmark::State& state) { gates(state, path, n); })
        ->Unit(benchmark::kSecond)
        ->Iterations(1);
  }
  return true;
}();

}  // namespace
}  // namespace xflow
