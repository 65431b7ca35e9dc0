// What models cost, and what costing them costs: for each model under XFLOW_TEST_MODELS its cover on this CPU is measured cold, then one
// graph is costed again and again.
//
// Counters: predicted_us (one run), executed_us (the same launches one after the other, see src/cost/cpu/sequence.h; 0 where their buffers
// take too much memory), error_percent (of the prediction), kernels, unmeasured (launches that this device cannot run, which are in neither
// time), profiled (kernels timed), disturbed (of these, while the machine was slowed by something else) and profile_s (seconds that timing
// them took). The time of the benchmark is that of costing a graph that is known.
// CostRebuilt is the time of costing a graph of which every node is new, as after a rewrite at its first node.
// With XFLOW_BENCH_COVER=1 the cover itself is printed.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "src/cost/cover.h"
#include "src/cost/cpu/cpu_device.h"
#include "src/cost/cpu/sequence.h"
#include "src/cost/kernel_text.h"
#include "src/onnx/document.h"
#include "src/onnx/lift.h"

namespace xflow {
namespace {

// Sizes of open dimensions: the first of an input is 1, every other 128.
ir::Symbols::Valuation default_sizes(const ir::Arena& arena, const onnx_io::LiftedModel& model) {
  auto sizes = std::make_shared<std::unordered_map<ir::SymbolId, std::int64_t>>();
  for (const ir::ValueId input : model.inputs) {
    const ir::TensorType& type = arena.type(input);
    for (std::size_t k = 0; type.ranked && k < type.shape.size(); ++k) {
      for (const ir::SymbolId symbol : type.shape[k].symbols()) sizes->try_emplace(symbol, k == 0 ? 1 : 128);
    }
  }
  return [sizes](ir::SymbolId symbol) -> std::optional<std::int64_t> {
    const auto found = sizes->find(symbol);
    return found == sizes->end() ? 128 : found->second;
  };
}

// The times of the regions when they run one after the other: the medians of five runs. Empty where they cannot.
Result<std::vector<cost::Nanoseconds>> execute(cost::cpu::CpuDevice& device, const std::vector<cost::CoveredRegion>& regions) {
  std::vector<cost::cpu::LaunchSpec> launches;
  for (const cost::CoveredRegion& region : regions) {
    if (!region.refusal.empty()) continue;
    XFLOW_TRY(ops::KernelSpec spec, cost::parse_kernel(region.kernel));
    launches.push_back({std::move(spec), region.layout});
  }
  XFLOW_TRY(auto sequence, cost::cpu::Sequence::build(device, launches));
  sequence.run();
  std::vector<std::vector<cost::Nanoseconds>> runs(5);
  for (auto& run : runs) run = sequence.run();
  std::vector<cost::Nanoseconds> medians(launches.size());
  for (std::size_t k = 0; k < launches.size(); ++k) {
    std::vector<cost::Nanoseconds> times;
    for (const auto& run : runs) times.push_back(run[k]);
    std::ranges::sort(times);
    medians[k] = times[times.size() / 2];
  }
  return medians;
}

void print_cover(const std::vector<cost::CoveredRegion>& regions, const std::vector<cost::Nanoseconds>& executed) {
  std::size_t next = 0;
  for (const cost::CoveredRegion& region : regions) {
    const bool ran = region.refusal.empty() && next < executed.size();
    fmt::print("{:>10} {:>8} {:>10} {:>13} {}\n", cost::to_string(region.cost.median), cost::to_string(region.cost.spread),
               ran ? cost::to_string(executed[next++]) : "", cost::name(region.layout), region.kernel);
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
  cost::Nanoseconds executed;
};

Result<std::unique_ptr<Profiled>> profile(const std::string& path) {
  auto profiled = std::make_unique<Profiled>();
  XFLOW_TRY(profiled->document, onnx_io::Document::open(path));
  XFLOW_TRY(profiled->model, onnx_io::lift(*profiled->document, profiled->arena));
  XFLOW_TRY(profiled->device, cost::cpu::open_cpu_device());
  profiled->database = cost::Database::open("", profiled->device->info());
  profiled->costs.emplace(profiled->arena, *profiled->device, *profiled->database, default_sizes(profiled->arena, profiled->model));
  XFLOW_TRY(profiled->cost, profiled->costs->cost(profiled->model.graph));
  XFLOW_TRY(const std::vector<cost::CoveredRegion> regions, profiled->costs->explain(profiled->model.graph));
  std::vector<cost::Nanoseconds> executed;
  if (auto times = execute(*profiled->device, regions)) {
    executed = *std::move(times);
  } else if (times.error().code != ErrorCode::limit) {
    return fail(times.error());
  }
  for (const cost::Nanoseconds time : executed) profiled->executed += time;
  if (std::getenv("XFLOW_BENCH_COVER") != nullptr) print_cover(regions, executed);
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
  state.counters["predicted_us"] = (*profiled)->cost.time.value / 1e3;
  state.counters["kernels"] = static_cast<double>((*profiled)->cost.kernels);
  state.counters["unmeasured"] = static_cast<double>((*profiled)->cost.unmeasured);
  const double executed = (*profiled)->executed.value;
  state.counters["executed_us"] = executed / 1e3;
  if (executed > 0) state.counters["error_percent"] = 100 * ((*profiled)->cost.time.value / executed - 1);
  state.counters["disturbed"] = static_cast<double>(costs.statistics().disturbed);
  state.counters["profiled"] = static_cast<double>(costs.statistics().measured);
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
