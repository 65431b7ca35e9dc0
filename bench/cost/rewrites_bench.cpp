// Whether predictions order rewritten graphs as their runs do: with XFLOW_BENCH_REWRITES=N, for each model under XFLOW_TEST_MODELS, N
// graphs that random rewrites by the shipped rules make of it, good ones and bad ones, as many in a row as it has operations at most. Each
// is run on this CPU or, with XFLOW_BENCH_RUNNER=COMMAND, in a runner, where its kernels are timed then as well, interleaved with the
// original, so that a machine whose speed changes meets both. With XFLOW_BENCH_COSTS=FILE costs are kept there.
//
// Counters: graphs (that differ from one another in what is predicted and could be run), spearman (rank correlation of predicted and
// executed time), error_percent (median of the absolute error of the predicted part of the original's time), least and most (executed, as
// parts of the original's). With XFLOW_BENCH_COVER=1 both are printed for each graph. The time of the benchmark means nothing.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <set>

#include "bench/cost/lifted.h"
#include "src/cost/cost_model.h"
#include "src/devices/cpu/cpu_device.h"
#include "src/devices/cpu/footprint.h"
#include "src/devices/cpu/program.h"
#include "src/devices/runner/runner_device.h"
#include "src/devices/runner/runner_executor.h"
#include "src/eval/evaluate.h"
#include "src/onnx/document/document_writer.h"
#include "src/onnx/lower/lower.h"
#include "src/optimizer/load_rules.h"
#include "src/search/rule_rewriter.h"

namespace xflow {
namespace {

constexpr int kAttempts = 20;  // to find a rewrite, for each that is wanted
constexpr int kTurns = 9;
constexpr double kSample = 5e6;  // nanoseconds of runs in a row

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

// Ranks from 0; equal values share the mean of theirs.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t k) { return values[k]; });
  std::vector<double> result(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t k = begin; k < end; ++k) result[order[k]] = static_cast<double>(begin + end - 1) / 2;
    begin = end;
  }
  return result;
}

double spearman(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks(a);
  const std::vector<double> y = ranks(b);
  const double mean = static_cast<double>(x.size() - 1) / 2;
  double xy = 0;
  double xx = 0;
  double yy = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    xy += (x[k] - mean) * (y[k] - mean);
    xx += (x[k] - mean) * (x[k] - mean);
    yy += (y[k] - mean) * (y[k] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

// Some rewrites in a row, each at a random operation that has one.
ir::Graph random_graph(ir::Arena& arena, const ir::Graph& original, search::Rewriter& rewriter, std::mt19937_64& random) {
  ir::WorkGraph work(arena, original);
  const auto steps = static_cast<int>(1 + random() % work.operations());
  for (int step = 0, attempts = 0; step < steps && attempts < kAttempts * steps; ++attempts) {
    const std::vector<ir::NodeId> order = work.order();
    const ir::NodeId root = order[random() % order.size()];
    if (work.arena().node(root).kind != ir::NodeKind::operation) continue;
    std::vector<search::Rewrite> found;
    std::vector<ir::NodeId> reads;
    rewriter.rewrites(work, root, reads, [&](search::Rewrite rewrite) { found.push_back(std::move(rewrite)); });
    if (found.empty()) continue;
    const ir::WorkGraph::Mark mark = work.mark();
    const std::vector<ir::Replacement> replacements = found[random() % found.size()].build(work.arena());
    if (replacements.empty() || !work.replace(replacements, mark)) {
      work.undo(mark);
      continue;
    }
    ++step;
  }
  return work.extract(arena);
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

// Nanoseconds of some runs in a row of a graph.
using Sample = std::function<Result<double>(int repeats)>;

// Where graphs are costed and run.
class Machine {
 public:
  virtual ~Machine() = default;
  virtual cost::Device& device() = 0;
  virtual Result<Sample> prepare(const ir::Graph& graph, cost::CostModel& costs) = 0;
};

class Cpu final : public Machine {
 public:
  static Result<std::unique_ptr<Machine>> open(Lifted& lifted) {
    cost::cpu::CpuOptions options;
    options.cache_footprint =
        cost::cpu::cache_footprint_for(cost::cpu::bytes_of_run(lifted.arena, lifted.model.graph, lifted.sizes->valuation()), 1);
    auto made = std::make_unique<Cpu>(lifted);
    XFLOW_TRY(made->device_, cost::cpu::open_cpu_device(options));
    return std::unique_ptr<Machine>(std::move(made));
  }
  explicit Cpu(Lifted& lifted) : lifted_(lifted) {}

  cost::Device& device() override { return *device_; }
  Result<Sample> prepare(const ir::Graph& graph, cost::CostModel& costs) override {
    cost::cpu::ProgramOptions options;
    options.chosen = &chosen_;
    XFLOW_TRY(cost::cpu::Program built,
              cost::cpu::Program::build(*device_, lifted_.arena, graph, costs, lifted_.sizes->valuation(), options));
    const auto program = std::make_shared<cost::cpu::Program>(std::move(built));
    for (const api::NamedInput& input : lifted_.inputs)
      XFLOW_CHECK(program->write(input.value, lifted_.set.tensors.at(std::string(input.name))));
    program->run();
    return Sample([program](int repeats) -> Result<double> {
      double time = 0;
      for (int k = 0; k < repeats; ++k) time += program->run().thread.count();
      return time;
    });
  }

 private:
  Lifted& lifted_;
  std::unique_ptr<cost::cpu::CpuDevice> device_;
  std::map<std::string, std::string> chosen_;
};

class InRunner final : public Machine {
 public:
  static Result<std::unique_ptr<Machine>> open(Lifted& lifted, const std::string& command) {
    auto made = std::make_unique<InRunner>(lifted);
    XFLOW_TRY(made->device_, cost::runner::RunnerDevice::open({{command, 1, 120}}));
    XFLOW_TRY(made->executor_, cost::runner::RunnerExecutor::open({command, 1, 120}));
    std::vector<cost::NamedTensor> tensors;
    for (const api::NamedInput& input : lifted.inputs)
      tensors.push_back({std::string(input.name), lifted.set.tensors.at(std::string(input.name))});
    made->executor_->add_inputs(std::move(tensors));
    return std::unique_ptr<Machine>(std::move(made));
  }
  explicit InRunner(Lifted& lifted) : lifted_(lifted) {}

  cost::Device& device() override { return *device_; }
  Result<Sample> prepare(const ir::Graph& graph, cost::CostModel& /*costs*/) override {
    const onnx_io::Fold fold = [&](ir::ValueId value) { return eval::fold(lifted_.arena, value); };
    XFLOW_TRY(const onnx_io::LoweredModel lowered, onnx_io::lower(*lifted_.document, lifted_.model, lifted_.arena, graph, {}, fold));
    XFLOW_TRY(std::string bytes, onnx_io::write_bytes(*lifted_.document, lowered.edits));
    const cost::ProgramId id = executor_->add({std::move(bytes), {}});
    const std::shared_ptr<void> loaded(nullptr, [executor = executor_.get(), id](void*) { executor->remove(id); });
    XFLOW_CHECK(executor_->run(id, 0, 1));
    return Sample([executor = executor_.get(), id, loaded](int repeats) -> Result<double> {
      XFLOW_TRY(const cost::RunTimes mean, executor->run(id, 0, repeats));
      return mean.time.count() * repeats;
    });
  }

 private:
  Lifted& lifted_;
  std::unique_ptr<cost::runner::RunnerDevice> device_;
  std::unique_ptr<cost::runner::RunnerExecutor> executor_;
};

struct Seen {
  std::vector<double> predicted;  // as parts of the original's time
  std::vector<double> executed;
};

Result<Seen> compare(const std::string& path, int count) {
  XFLOW_TRY(const std::unique_ptr<Lifted> lifted, lift(path));
  ir::Arena& arena = lifted->arena;
  const ir::Graph& whole = lifted->model.graph;
  XFLOW_TRY(const rules::VerifiedRules rules, api::load_rules({}));
  const std::string runner = environment("XFLOW_BENCH_RUNNER");
  XFLOW_TRY(const std::unique_ptr<Machine> machine, runner.empty() ? Cpu::open(*lifted) : InRunner::open(*lifted, runner));
  cost::Database database = cost::Database::open(environment("XFLOW_BENCH_COSTS"), machine->device().info());
  cost::CostModel costs(arena, machine->device(), database, lifted->sizes->valuation());
  XFLOW_TRY(const cost::Cost before, costs.cost(whole));
  XFLOW_TRY(const Sample original, machine->prepare(whole, costs));
  XFLOW_TRY(const double once, original(1));
  const int repeats = std::max(1, static_cast<int>(kSample / once));
  search::RuleRewriter rewriter(rules, {});
  std::mt19937_64 random(1);
  std::set<double> known;
  Seen seen;
  for (int attempt = 0; attempt < 5 * count && static_cast<int>(seen.predicted.size()) < count; ++attempt) {
    const ir::Graph graph = random_graph(arena, whole, rewriter, random);
    XFLOW_TRY(const cost::Cost cost, costs.cost(graph));
    if (cost.unmeasured > before.unmeasured || !known.insert(cost.time.count()).second) continue;
    const auto rewritten = machine->prepare(graph, costs);
    if (!rewritten) continue;
    std::vector<double> ratios;
    for (int turn = 0; turn < kTurns; ++turn) {
      XFLOW_TRY(const double a, original(repeats));
      XFLOW_TRY(const double b, (*rewritten)(repeats));
      ratios.push_back(b / a);
    }
    seen.predicted.push_back(cost.time.count() / before.time.count());
    seen.executed.push_back(median(ratios));
    if (std::getenv("XFLOW_BENCH_COVER") != nullptr) fmt::print("{:.3f} {:.3f}\n", seen.predicted.back(), seen.executed.back());
  }
  return seen;
}

void rewrites(benchmark::State& state, const std::string& path, int count) {
  Result<Seen> seen = Seen();
  for (auto _ : state) seen = compare(path, count);
  if (!seen) return state.SkipWithError(seen.error().text().c_str());
  state.counters["graphs"] = static_cast<double>(seen->predicted.size());
  if (seen->predicted.empty()) return;
  std::vector<double> errors;
  for (std::size_t k = 0; k < seen->predicted.size(); ++k) errors.push_back(std::fabs(seen->predicted[k] / seen->executed[k] - 1));
  state.counters["spearman"] = spearman(seen->predicted, seen->executed);
  state.counters["error_percent"] = 100 * median(std::move(errors));
  state.counters["least"] = *std::ranges::min_element(seen->executed);
  state.counters["most"] = *std::ranges::max_element(seen->executed);
}

const bool registered = [] {
  const char* folder = std::getenv("XFLOW_TEST_MODELS");
  const char* count = std::getenv("XFLOW_BENCH_REWRITES");
  if (folder == nullptr || count == nullptr) return false;
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator(folder, none)) {
    if (file.path().extension() != ".onnx") continue;
    benchmark::RegisterBenchmark(("Rewrites/" + file.path().stem().string()).c_str(),
                                 [path = file.path().string(), n = std::atoi(count)](benchmark::State& state) { rewrites(state, path, n); })
        ->Unit(benchmark::kSecond)
        ->Iterations(1);
  }
  return true;
}();

}  // namespace
}  // namespace xflow
