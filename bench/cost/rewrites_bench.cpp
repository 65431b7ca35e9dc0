// Whether predictions order rewritten graphs as their runs do: with XFLOW_BENCH_REWRITES=N, for each model under XFLOW_TEST_MODELS, N
// graphs that random rewrites by the shipped rules make of it, good ones and bad ones, as many in a row as it has operations at most. Each
// is run on this CPU in turns with the original, so that a machine whose speed changes meets both.
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
#include <numeric>
#include <random>
#include <set>

#include "bench/cost/lifted.h"
#include "src/api/engine.h"
#include "src/cost/cover.h"
#include "src/cost/cpu/cpu_device.h"
#include "src/cost/cpu/footprint.h"
#include "src/cost/cpu/program.h"
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

struct Seen {
  std::vector<double> predicted;  // as parts of the original's time
  std::vector<double> executed;
};

Result<Seen> compare(const std::string& path, int count) {
  XFLOW_TRY(const std::unique_ptr<Lifted> lifted, lift(path));
  ir::Arena& arena = lifted->arena;
  const ir::Graph& whole = lifted->model.graph;
  const ir::Symbols::Valuation sizes = lifted->sizes->valuation();
  XFLOW_TRY(const rules::VerifiedRules rules, api::load_rules({}));
  cost::cpu::CpuOptions options;
  options.between = cost::cpu::between_for(cost::cpu::bytes_of_run(arena, whole, sizes), options.threads);
  XFLOW_TRY(const std::unique_ptr<cost::cpu::CpuDevice> device, cost::cpu::open_cpu_device(options));
  cost::Database database = cost::Database::open("", device->info());
  cost::CostModel costs(arena, *device, database, sizes);
  std::map<std::string, std::string> chosen;
  const auto build = [&](const ir::Graph& graph) -> Result<cost::cpu::Program> {
    cost::cpu::ProgramOptions program_options;
    program_options.chosen = &chosen;
    XFLOW_TRY(cost::cpu::Program program, cost::cpu::Program::build(*device, arena, graph, costs, sizes, program_options));
    for (const api::NamedInput& input : lifted->inputs)
      XFLOW_CHECK(program.write(input.value, lifted->set.tensors.at(std::string(input.name))));
    program.run();
    return program;
  };
  XFLOW_TRY(const cost::Cost before, costs.cost(whole));
  XFLOW_TRY(cost::cpu::Program original, build(whole));
  const int repeats = std::max(1, static_cast<int>(kSample / original.run().thread.value));
  const auto sample = [&](cost::cpu::Program& program) {
    double time = 0;
    for (int k = 0; k < repeats; ++k) time += program.run().thread.value;
    return time;
  };
  search::RuleRewriter rewriter(rules, {});
  std::mt19937_64 random(1);
  std::set<double> known;
  Seen seen;
  for (int attempt = 0; attempt < 5 * count && static_cast<int>(seen.predicted.size()) < count; ++attempt) {
    const ir::Graph graph = random_graph(arena, whole, rewriter, random);
    XFLOW_TRY(const cost::Cost cost, costs.cost(graph));
    if (cost.unmeasured > before.unmeasured || !known.insert(cost.time.value).second) continue;
    auto program = build(graph);
    if (!program) continue;
    std::vector<double> ratios;
    for (int turn = 0; turn < kTurns; ++turn) {
      const double a = sample(original);
      ratios.push_back(sample(*program) / a);
    }
    seen.predicted.push_back(cost.time.value / before.time.value);
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
