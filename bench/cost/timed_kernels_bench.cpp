// How many kernels a first run times, and whether it finds what it would if it timed all: with XFLOW_BENCH_TIMED=N, a search of N states
// for each model under XFLOW_TEST_MODELS, on this CPU or, with XFLOW_BENCH_RUNNER=COMMAND, with the prices of a runner. Each search begins
// without known times. Both get the same time for the same kernel, so that noise makes no difference.
//
// Counters: all and needed (kernels timed by the one and by the other), seconds_all and seconds_needed (spent on that), search_all and
// search_needed (seconds of the searches), ratio_all and ratio_needed (predicted time of the result divided by that of the original, with
// all kernels timed). The time of the benchmark means nothing.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "bench/cost/lifted.h"
#include "src/cost/cost_model.h"
#include "src/devices/cpu/cpu_device.h"
#include "src/devices/cpu/footprint.h"
#include "src/devices/fitted_estimates.h"
#include "src/devices/runner/runner_device.h"
#include "src/ops/kernel_text.h"
#include "src/optimizer/load_rules.h"
#include "src/optimizer/run.h"
#include "src/search/rule_rewriter.h"

namespace xflow {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Times each kernel once; gives the same time when it is asked again. Counts what was asked since the last call of begin().
class Remembering final : public cost::Device {
 public:
  explicit Remembering(cost::Device& device) : device_(device) {}

  const cost::DeviceInfo& info() const override { return device_.info(); }
  bool chooses_layout(const ops::KernelSpec& spec) const override { return device_.chooses_layout(spec); }
  bool works_in(const ops::KernelSpec& spec, cost::Layout layout) const override { return device_.works_in(spec, layout); }
  bool can_fuse(const ops::KernelSpec& base, const ops::PostOperation& post) const override { return device_.can_fuse(base, post); }
  cost::ViewSupport views() const override { return device_.views(); }
  bool has_attention(const ops::KernelSpec& spec) const override { return device_.has_attention(spec); }
  bool reads_function_graphs() const override { return device_.reads_function_graphs(); }
  Result<cost::KernelCost> measure(const ops::KernelSpec& spec, cost::Layout layout) override {
    const std::pair key(ops::to_string(spec), layout);
    auto found = known_.find(key);
    if (found == known_.end()) {
      const double begin = now();
      Result<cost::KernelCost> cost = device_.measure(spec, layout);
      if (cost) cost->interference = 0;
      found = known_.emplace(key, std::pair(std::move(cost), now() - begin)).first;
      measuring_ += found->second.second;
    }
    if (asked_.insert(key).second) seconds_ += found->second.second;
    return found->second.first;
  }

  void begin() {
    asked_.clear();
    seconds_ = measuring_ = 0;
  }
  std::size_t kernels() const { return asked_.size(); }
  double seconds() const { return seconds_; }      // of timing them
  double measuring() const { return measuring_; }  // part of it spent since begin()

 private:
  using Key = std::pair<std::string, cost::Layout>;
  cost::Device& device_;
  std::map<Key, std::pair<Result<cost::KernelCost>, double>> known_;
  std::set<Key> asked_;
  double seconds_ = 0;
  double measuring_ = 0;
};

Result<std::unique_ptr<cost::Device>> open_device(const Lifted& lifted) {
  if (const char* runner = std::getenv("XFLOW_BENCH_RUNNER")) {
    XFLOW_TRY(auto device, cost::runner::RunnerDevice::open({{runner, 1, 120}}));
    return std::unique_ptr<cost::Device>(std::move(device));
  }
  cost::cpu::CpuOptions options;
  options.cache_footprint =
      cost::cpu::cache_footprint_for(cost::cpu::bytes_of_run(lifted.arena, lifted.model.graph, lifted.sizes->valuation()), 1);
  XFLOW_TRY(auto device, cost::cpu::open_cpu_device(options));
  return std::unique_ptr<cost::Device>(std::move(device));
}

struct Searched {
  ir::Graph result;
  std::size_t kernels = 0;
  double timing = 0;  // seconds
  double search = 0;
};

Result<Searched> search(Lifted& lifted, Remembering& device, const rules::VerifiedRules& rules, std::uint64_t states, bool times_all) {
  cost::Database database = cost::Database::open("", device.info());
  cost::FittedEstimates estimates(database);
  cost::CostModel costs(lifted.arena, device, database, lifted.sizes->valuation(), times_all ? nullptr : &estimates);
  search::RuleRewriter rewriter(rules, {});
  search::Options options;
  options.max_states = states;
  options.per_operation = Nanoseconds{0.05};
  device.begin();
  const double begin = now();
  XFLOW_TRY(search::Outcome outcome, api::remeasured_search(lifted.arena, lifted.model.graph, costs, rewriter, options));
  return Searched{std::move(outcome.best), device.kernels(), device.seconds(), now() - begin - device.measuring()};
}

struct Compared {
  Searched all;
  Searched needed;
  double ratio_all = 1;
  double ratio_needed = 1;
};

Result<Compared> compare(const std::string& path, std::uint64_t states) {
  XFLOW_TRY(const std::unique_ptr<Lifted> lifted, lift(path));
  XFLOW_TRY(const rules::VerifiedRules rules, api::load_rules({}));
  XFLOW_TRY(const std::unique_ptr<cost::Device> timer, open_device(*lifted));
  Remembering device(*timer);
  Compared compared;
  // This one comes first, since how long timing takes decides what it times.
  XFLOW_TRY(compared.needed, search(*lifted, device, rules, states, false));
  XFLOW_TRY(compared.all, search(*lifted, device, rules, states, true));
  cost::Database database = cost::Database::open("", device.info());
  cost::CostModel costs(lifted->arena, device, database, lifted->sizes->valuation());
  XFLOW_TRY(const cost::Cost before, costs.cost(lifted->model.graph));
  XFLOW_TRY(const cost::Cost all, costs.cost(compared.all.result));
  XFLOW_TRY(const cost::Cost needed, costs.cost(compared.needed.result));
  compared.ratio_all = all.time.count() / before.time.count();
  compared.ratio_needed = needed.time.count() / before.time.count();
  return compared;
}

void timed_kernels(benchmark::State& state, const std::string& path, std::uint64_t states) {
  Result<Compared> compared = Compared();
  for (auto _ : state) compared = compare(path, states);
  if (!compared) return state.SkipWithError(compared.error().text().c_str());
  state.counters["all"] = static_cast<double>(compared->all.kernels);
  state.counters["needed"] = static_cast<double>(compared->needed.kernels);
  state.counters["seconds_all"] = compared->all.timing;
  state.counters["seconds_needed"] = compared->needed.timing;
  state.counters["search_all"] = compared->all.search;
  state.counters["search_needed"] = compared->needed.search;
  state.counters["ratio_all"] = compared->ratio_all;
  state.counters["ratio_needed"] = compared->ratio_needed;
}

const bool registered_timed_kernels = [] {
  const char* folder = std::getenv("XFLOW_TEST_MODELS");
  const char* states = std::getenv("XFLOW_BENCH_TIMED");
  if (folder == nullptr || states == nullptr) return false;
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator(folder, none)) {
    if (file.path().extension() != ".onnx") continue;
    const auto run = [path = file.path().string(), n = std::strtoull(states, nullptr, 10)](benchmark::State& state) {
      timed_kernels(state, path, n);
    };
    benchmark::RegisterBenchmark(("TimedKernels/" + file.path().stem().string()).c_str(), run)->Unit(benchmark::kSecond)->Iterations(1);
  }
  return true;
}();

}  // namespace
}  // namespace xflow
