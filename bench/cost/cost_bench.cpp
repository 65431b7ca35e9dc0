// What models cost, and what costing them costs: for each model under XFLOW_TEST_MODELS its cover on this CPU is measured cold, then one
// graph is costed again and again.
//
// Counters: predicted_us (one run), executed_us (the CPU time of a run, the median of 15; 0 where it takes too much memory),
// error_percent (of the prediction, corrected by what its kernels take more or less when they are timed again between runs: the speed of a
// machine changes), error_then_percent (of the prediction as it was made), run_MB (what a run goes through, by which the caches are
// chosen), not_run_percent (of the nodes: opaque ones), kernels, unmeasured (launches that this device cannot run, which are in neither
// time), profiled (kernels timed), with_interference (of these, while the machine was slowed by something else), profile_s (seconds that
// timing them took) and warm_ms (opening the device and a database that has all of them, and costing the graph). The time of the benchmark
// is that of costing a graph that is known. CostRebuilt is the time of costing a graph of which every node is new, as after a rewrite at
// its first node. With XFLOW_BENCH_COVER=1 the cover itself is printed.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "src/cost/cost_model.h"
#include "src/cost/kernel_costs.h"
#include "src/devices/cpu/cpu_device.h"
#include "src/devices/cpu/footprint.h"
#include "src/devices/cpu/program.h"
#include "src/onnx/document/document.h"
#include "src/onnx/lift/lift.h"
#include "src/ops/kernel_text.h"
#include "src/validation/check_inputs.h"
#include "src/validation/sizes.h"

namespace xflow {
namespace {

struct Executed {
  double microseconds = 0;  // a run: the median of some
  std::vector<Nanoseconds> launches;
};

// Of a model with opaque nodes what is between them.
Executed execute(cost::cpu::Program& program) {
  constexpr int kRuns = 15;
  const auto median = [](std::vector<double> times) {
    std::ranges::sort(times);
    return times[times.size() / 2];
  };
  program.run();
  std::vector<double> runs;
  for (int k = 0; k < kRuns; ++k) runs.push_back(program.run().thread.count());
  Executed executed{median(runs) / 1e3, std::vector<Nanoseconds>(program.plan().launches.size())};
  std::vector<std::vector<double>> times(executed.launches.size());
  std::vector<Nanoseconds> one(executed.launches.size());
  for (int k = 0; k < kRuns; ++k) {
    program.run(one);
    for (std::size_t i = 0; i < one.size(); ++i) times[i].push_back(one[i].count());
  }
  for (std::size_t i = 0; i < times.size(); ++i) executed.launches[i] = Nanoseconds(median(times[i]));
  return executed;
}

void print_launches(const cost::cpu::Program& program, const Executed& executed) {
  for (std::size_t k = 0; k < executed.launches.size(); ++k) {
    const cost::PlannedLaunch& launch = program.plan().launches[k];
    fmt::print("{:>10} {:>10} {:>13} {:>24} {}\n", cost::to_string(launch.predicted), cost::to_string(executed.launches[k]),
               cost::name(launch.operand_layout), program.implementation(k), ops::to_string(launch.spec));
  }
}

// A model with its costs, measured when it is made.
struct Profiled {
  ir::Arena arena;
  std::optional<onnx_io::Document> document;
  onnx_io::LiftedModel model;
  std::unique_ptr<cost::cpu::CpuDevice> device;
  std::optional<cost::Database> database;
  std::optional<cost::CostModel> costs;
  cost::Cost cost;
  Executed executed;
  double error = 0;  // of the prediction
  std::size_t bytes = 0;
  double warm_seconds = 0;
  double share_not_run = 0;
};

// The machine's speed changes from minute to minute, so what was predicted is compared with runs by kernels that are timed again between
// the runs: by which factor they take longer now than when the prediction was made. The median of some rounds of the error.
double interleaved_error(Profiled& p, cost::cpu::Program& program) {
  constexpr int kRounds = 7;
  struct Timed {
    ops::KernelSpec spec;
    cost::Layout layout;
    double then;
    int launches;
  };
  std::map<std::string, Timed> kernels;
  for (const cost::PlannedLaunch& launch : program.plan().launches) {
    const ops::KernelSpec spec = cost::in_measured_order(launch.spec);
    const cost::Layout layout = p.device->chooses_layout(spec) ? cost::Layout::any : launch.operand_layout;
    const cost::DatabaseKey key{ops::to_string(spec), layout};
    const cost::DatabaseEntry* entry = p.database->find(key);
    if (entry == nullptr || entry->cost.median.count() <= 0) continue;
    ++kernels.try_emplace(fmt::format("{}@{}", key.kernel, cost::name(layout)), Timed{spec, layout, entry->cost.median.count(), 0})
          .first->second.launches;
  }
  std::vector<double> errors;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> runs;
    double now = 0;
    double then = 0;
    const auto run = [&] { runs.push_back(program.run().thread.count()); };
    std::size_t n = 0;
    program.run();
    for (const auto& [text, kernel] : kernels) {
      if (n++ % (kernels.size() / 8 + 1) == 0) {
        program.run();
        run();
      }
      const auto cost = p.device->measure(kernel.spec, kernel.layout);
      if (!cost) continue;
      now += cost->median.count() * kernel.launches;
      then += kernel.then * kernel.launches;
    }
    std::ranges::sort(runs);
    if (then > 0) errors.push_back(p.cost.time.count() * now / then / runs[runs.size() / 2] - 1);
  }
  std::ranges::sort(errors);
  return errors.empty() ? 0 : errors[errors.size() / 2];
}

Result<std::unique_ptr<Profiled>> profile(const std::string& path) {
  auto profiled = std::make_unique<Profiled>();
  Profiled& p = *profiled;
  XFLOW_TRY(p.document, onnx_io::Document::open(path));
  XFLOW_TRY(p.model, onnx_io::lift(*p.document, p.arena));

  std::vector<api::NamedInput> inputs;
  for (std::size_t k = 0; k < p.model.inputs.size(); ++k) inputs.push_back({p.model.input_names[k], p.model.inputs[k]});
  XFLOW_TRY(const api::Sizes sizes, api::choose_fitting_sizes(p.arena, p.model.graph, inputs, {}));
  p.bytes = cost::cpu::bytes_of_run(p.arena, p.model.graph, sizes.valuation());
  cost::cpu::CpuOptions device_options;
  device_options.cache_footprint = cost::cpu::cache_footprint_for(p.bytes, device_options.threads);
  XFLOW_TRY(p.device, cost::cpu::open_cpu_device(device_options));
  const std::string file = (std::filesystem::temp_directory_path() / fmt::format("xflow-bench-{}.db", getpid())).string();
  std::error_code none;
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file + suffix, none);
  p.database = cost::Database::open(file, p.device->info());
  p.costs.emplace(p.arena, *p.device, *p.database, sizes.valuation());
  XFLOW_TRY(p.cost, p.costs->cost(p.model.graph));
  p.database->flush();
  const auto begin = std::chrono::steady_clock::now();
  XFLOW_TRY(const std::unique_ptr<cost::cpu::CpuDevice> reopened, cost::cpu::open_cpu_device(device_options));
  cost::Database known = cost::Database::open(file, reopened->info());
  XFLOW_CHECK(cost::CostModel(p.arena, *reopened, known, sizes.valuation()).cost(p.model.graph));
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file + suffix, none);
  p.warm_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  auto program = cost::cpu::Program::build(*p.device, p.arena, p.model.graph, *p.costs, sizes.valuation());
  if (!program && program.error().code == ErrorCode::limit) return profiled;
  if (!program) return fail(program.error());
  XFLOW_TRY(const api::InputSet set, api::seeded_inputs(p.arena, inputs, sizes, {}));
  for (const api::NamedInput& input : inputs) XFLOW_CHECK(program->write(input.value, set.tensors.at(std::string(input.name))));
  p.executed = execute(*program);
  p.error = interleaved_error(p, *program);
  p.share_not_run = program->plan().share_not_run();
  if (std::getenv("XFLOW_BENCH_COVER") != nullptr) print_launches(*program, p.executed);
  return profiled;
}

// Google Benchmark calls a benchmark several times for one figure; a model is profiled once.
const Result<std::unique_ptr<Profiled>>& profiled_once(const std::string& path) {
  static std::unordered_map<std::string, Result<std::unique_ptr<Profiled>>> known;
  if (!known.contains(path)) known.emplace(path, profile(path));
  return known.at(path);
}

void cost_model(benchmark::State& state, const std::string& path) {
  const auto& profiled = profiled_once(path);
  if (!profiled) return state.SkipWithError(profiled.error().text().c_str());
  cost::CostModel& costs = *(*profiled)->costs;
  for (auto _ : state) benchmark::DoNotOptimize(costs.cost((*profiled)->model.graph));
  state.counters["predicted_us"] = (*profiled)->cost.time.count() / 1e3;
  state.counters["run_MB"] = static_cast<double>((*profiled)->bytes) / 1e6;
  state.counters["kernels"] = static_cast<double>((*profiled)->cost.kernels);
  state.counters["unmeasured"] = static_cast<double>((*profiled)->cost.unmeasured);
  const double executed = (*profiled)->executed.microseconds;
  state.counters["executed_us"] = executed;
  if (executed > 0) state.counters["error_percent"] = 100 * (*profiled)->error;
  if (executed > 0) state.counters["error_then_percent"] = 100 * ((*profiled)->cost.time.count() / 1e3 / executed - 1);
  state.counters["not_run_percent"] = 100 * (*profiled)->share_not_run;
  state.counters["with_interference"] = static_cast<double>(costs.statistics().with_interference);
  state.counters["profiled"] = static_cast<double>(costs.statistics().measured);
  state.counters["warm_ms"] = 1e3 * (*profiled)->warm_seconds;
  state.counters["profile_s"] = costs.statistics().measured_seconds;
}

// A graph in which every node is new: what a rewrite at the very first node makes of it.
void cost_rebuilt(benchmark::State& state, const std::string& path) {
  const auto& profiled = profiled_once(path);
  if (!profiled) return state.SkipWithError(profiled.error().text().c_str());
  Profiled& p = **profiled;
  if (p.model.inputs.empty()) return state.SkipWithError("no input");
  for (auto _ : state) {
    state.PauseTiming();
    ir::ValueMap replacements;
    for (const ir::ValueId input : p.model.inputs)
      replacements.emplace(input, p.arena.input(p.arena.type(input), static_cast<std::uint32_t>(p.arena.size())));
    const auto graph = ir::replace(p.arena, p.model.graph, replacements);
    state.ResumeTiming();
    if (!graph) return state.SkipWithError(graph.error().text().c_str());
    benchmark::DoNotOptimize(p.costs->cost(*graph));
  }
}

// Registers a benchmark a model when the program starts.
const bool registered = [] {
  const char* folder = std::getenv("XFLOW_TEST_MODELS");
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator(folder == nullptr ? "" : folder, none)) {
    if (file.path().extension() != ".onnx") continue;
    const std::string path = file.path().string();
    const std::string name = file.path().stem().string();
    benchmark::RegisterBenchmark(("Cost/" + name).c_str(), [path](benchmark::State& state) {
      cost_model(state, path);
    })->Unit(benchmark::kMicrosecond);
    benchmark::RegisterBenchmark(("CostRebuilt/" + name).c_str(), [path](benchmark::State& state) { cost_rebuilt(state, path); })
        ->Unit(benchmark::kMicrosecond)
        ->Iterations(200);
  }
  return true;
}();

}  // namespace
}  // namespace xflow
