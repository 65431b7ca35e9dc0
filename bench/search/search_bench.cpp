// What the search costs, without measuring kernels: they cost what a formula says.
//
//   bench_search                     parts of a step, and a search of 2,000 states, on graphs of 1,000 operations
//   bench_search MODEL.onnx...       a search of each model; XFLOW_BENCH_STATES is its budget, 20,000 without it
//   bench_search --benchmark_filter=case/   small graphs whose cheapest equivalent is known (cases.h)
//     XFLOW_BENCH_STRATEGY is the strategy of all searches, auto without it
//   bench_search --benchmark_filter=transformer/200   a transformer of 200 layers and 10,200 operations (transformer.h)
//
// Counters: states a second, seconds to the best graph, predicted time after as a part of that before, peak memory of the process in MB; of
// the small graphs states until the best one, and by how much its time is above that of the hand-made optimum, in percent.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "bench/search/cases.h"
#include "bench/search/roofline.h"
#include "bench/search/transformer.h"
#include "src/cost/cost_model.h"
#include "src/cost/incremental_cost.h"
#include "src/onnx/document/document.h"
#include "src/onnx/lift/lift.h"
#include "src/ops/op.h"
#include "src/ops/operator.h"
#include "src/optimizer/shipped_rules.h"
#include "src/search/rule_rewriter.h"
#include "src/search/search.h"

namespace xflow {
namespace {

using ir::ValueId;

// A chain of relu((x * s) * t) with constants s and t: each pair of scales becomes one.
struct Chain {
  explicit Chain(int operations) {
    const ValueId x = arena.input({ir::DataType::float32, true, {ir::Poly(8), ir::Poly(16)}}, 0);
    ValueId y = x;
    for (int k = 0; k < operations / 3; ++k) {
      if (k == operations / 6) middle = y;
      y = *ops::apply(arena, "mul", {y, number(2.0 + k)});
      y = *ops::apply(arena, "mul", {y, number(3.0 + k)});
      y = *ops::apply(arena, "relu", {y});
    }
    graph.outputs = {y};
  }
  ValueId number(double value) { return arena.constant(*ir::make_constant(ir::DataType::float32, {16}, std::vector<double>(16, value))); }

  ir::Arena arena;
  ir::Graph graph;
  ValueId middle;
};

// Blocks of relu(conv(x, v) + conv(x, w) + x) as of a network with branches: they become one convolution each.
struct Blocks {
  explicit Blocks(int operations) {
    ValueId y = arena.input({ir::DataType::float32, true, {ir::Poly(1), ir::Poly(16), ir::Poly(14), ir::Poly(14)}}, 0);
    for (int k = 0; k < operations / 5; ++k) {
      const ValueId sum = *ops::apply(arena, "add", {convolution(y, k + 0.25), convolution(y, k + 0.5)});
      y = *ops::apply(arena, "relu", {*ops::apply(arena, "add", {sum, y})});
    }
    graph.outputs = {y};
  }
  ValueId convolution(ValueId x, double value) {
    const ValueId w = arena.constant(*ir::make_constant(ir::DataType::float32, {16, 16, 3, 3}, std::vector<double>(16 * 16 * 9, value)));
    const auto integers = [](std::vector<std::int64_t> list) { return ir::polys(list); };
    return *ops::apply(
        arena, "conv", {x, w},
        {{"strides", integers({1, 1})}, {"pads", integers({1, 1, 1, 1})}, {"dilations", integers({1, 1})}, {"groups", ir::Poly(1)}});
  }

  ir::Arena arena;
  ir::Graph graph;
};

void build_and_hash(benchmark::State& state) {
  for (auto _ : state) {
    const Chain chain(static_cast<int>(state.range(0)));
    benchmark::DoNotOptimize(ir::structural_hash(chain.arena, chain.graph));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(build_and_hash)->Arg(1000);

void copy_to_work_on(benchmark::State& state) {
  const Chain chain(static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(ir::WorkGraph(chain.arena, chain.graph).hash());
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(copy_to_work_on)->Arg(1000);

void replace_in_the_middle_and_undo(benchmark::State& state) {
  Chain chain(static_cast<int>(state.range(0)));
  ir::WorkGraph work(chain.arena, chain.graph);
  const ValueId middle{*work.copy_of(chain.middle.node), chain.middle.output};
  for (auto _ : state) {
    const auto mark = work.mark();
    const ValueId twice = *ops::apply(work.arena(), "add", {middle, middle});
    benchmark::DoNotOptimize(work.replace(std::vector<ir::Replacement>{{middle, twice}}, mark));
    work.undo(mark);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(replace_in_the_middle_and_undo)->Arg(1000);

// Time by formula: a launch, and each element read or written. Convolutions and products also by their multiplications.
class FormulaDevice final : public cost::Device {
 public:
  FormulaDevice() { info_.name = "formula"; }
  const cost::DeviceInfo& info() const override { return info_; }
  bool chooses_layout(const ops::KernelSpec&) const override { return false; }
  bool works_in(const ops::KernelSpec&, cost::Layout layout) const override { return layout == cost::Layout::plain; }
  bool can_fuse(const ops::KernelSpec& base, const ops::PostOperation&) const override {
    return base.is(ops::Op::Conv) || base.is(ops::Op::Matmul) || is_pointwise(base);
  }
  Result<cost::KernelCost> measure(const ops::KernelSpec& spec, cost::Layout layout) override {
    const auto elements = [](const ops::TensorSpec& tensor) {
      double n = 1;
      for (const std::int64_t d : tensor.dims) n *= static_cast<double>(d);
      return n;
    };
    double time = 500 + 5.0 * static_cast<double>(spec.post.size());
    for (const auto& tensor : spec.operands) time += 0.1 * elements(tensor);
    for (const auto& tensor : spec.results) time += 0.1 * elements(tensor);
    for (const auto& post : spec.post)
      for (const auto& tensor : post.operands) time += 0.1 * elements(tensor);
    const bool product = spec.is(ops::Op::Conv) || spec.is(ops::Op::Matmul);
    if (product && spec.operands.size() > 1 && !spec.results.empty() && !spec.results[0].dims.empty()) {
      const double columns =
          static_cast<double>(std::max<std::int64_t>(spec.is(ops::Op::Matmul) ? spec.results[0].dims.back() : spec.operands[1].dims[0], 1));
      time += 0.02 * elements(spec.results[0]) * elements(spec.operands[1]) / columns;
    }
    return cost::KernelCost{Nanoseconds(time), Nanoseconds(0), 1, layout, layout};
  }

 private:
  cost::DeviceInfo info_;
};

const rules::VerifiedRules& shipped_rules() {
  static const rules::VerifiedRules rules = [] {
    std::vector<rules::RuleHash> proved;
    for (const rules::ClassifiedRule& rule : api::proved_shipped_rules()) proved.push_back(rule.rule);
    std::sort(proved.begin(), proved.end());
    rules::VerifiedRules set(proved);
    for (const api::ShippedFile& file : api::shipped_rule_files()) {
      if (!set.add(file.text, file.name)) std::abort();
    }
    return set;
  }();
  return rules;
}

// The budget of a search.
std::uint64_t states_of_environment() {
  const char* states = std::getenv("XFLOW_BENCH_STATES");
  return states == nullptr ? 20'000 : std::strtoull(states, nullptr, 10);
}

// XFLOW_BENCH_STRATEGY: the strategy of a search, auto without it.
Strategy strategy_of_environment() {
  const char* name = std::getenv("XFLOW_BENCH_STRATEGY");
  return name == nullptr ? Strategy::automatic : parse_strategy(name).value();
}

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// One search from scratch a round.
void search_from(benchmark::State& state, ir::Arena& arena, const ir::Graph& graph, std::uint64_t states) {
  FormulaDevice device;
  cost::Database database = cost::Database::open("", device.info());
  cost::CostModel model(arena, device, database, [](ir::SymbolId) { return std::int64_t{128}; });
  search::Outcome outcome;
  double graphs = 0;
  for (auto _ : state) {
    search::RuleRewriter rewriter(shipped_rules(), {});
    search::Options options;
    options.max_states = states;
    options.strategy = strategy_of_environment();
    outcome = search::search(
        arena, graph, rewriter, [&](const ir::WorkGraph& work) { return model.follow(work); }, options);
    graphs += static_cast<double>(outcome.states);
  }
  state.counters["states"] = benchmark::Counter(graphs, benchmark::Counter::kIsRate);
  state.counters["to_best_s"] = outcome.best_seconds;
  state.counters["after"] = outcome.before.count() > 0 ? outcome.after.count() / outcome.before.count() : 1;
  state.counters["peak_MB"] = peak_megabytes();
}

void search_a_chain(benchmark::State& state) {
  Chain chain(static_cast<int>(state.range(0)));
  search_from(state, chain.arena, chain.graph, 2000);
}
BENCHMARK(search_a_chain)->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond);

void search_blocks(benchmark::State& state) {
  Blocks blocks(static_cast<int>(state.range(0)));
  search_from(state, blocks.arena, blocks.graph, 2000);
}
BENCHMARK(search_blocks)->Arg(1000)->Unit(benchmark::kMillisecond);

// The hand-made optimum may enlarge kernels: weights up to 10 times as large are no obstacle.
constexpr double kFreeGrowth = 10;

// One search of a small graph, compared with the hand-made optimum.
void search_case(benchmark::State& state, const bench::NamedCase& which, int size, bool copies_are_free) {
  search::Outcome outcome;
  double best = 0;
  for (auto _ : state) {
    bench::Case made = which.make(size, 1);
    const auto device = bench::roofline(copies_are_free);
    cost::Database database = cost::Database::open("", device->info());
    cost::CostModel model(*made.arena, *device, database, [](ir::SymbolId) { return std::int64_t{128}; });
    best = model.cost(made.graph)->time.count();
    for (const ir::Graph& other : made.equivalents) best = std::min(best, model.cost(other)->time.count());
    search::RuleRewriter rewriter(shipped_rules(), {});
    search::Options options;
    options.max_states = states_of_environment();
    options.prices_are_known = true;
    options.strategy = strategy_of_environment();
    options.max_growth = kFreeGrowth;
    outcome = search::search(
        *made.arena, made.graph, rewriter, [&](const ir::WorkGraph& work) { return model.follow(work); }, options);
  }
  state.counters["states"] = static_cast<double>(outcome.states);
  state.counters["best_states"] = static_cast<double>(outcome.best_states);
  state.counters["to_best_s"] = outcome.best_seconds;
  state.counters["saved_%"] = 100 * (outcome.before / outcome.after - 1);
  state.counters["off_%"] = 100 * (outcome.after.count() / best - 1);
}

void register_cases() {
  for (const bench::NamedCase& which : bench::cases()) {
    for (const int size : which.sizes) {
      for (const bool free : {true, false}) {
        const std::string name = "case/" + which.name + "/" + std::to_string(size) + (free ? "/free_copies" : "/fusing");
        benchmark::RegisterBenchmark(name.c_str(), [&which, size, free](benchmark::State& state) { search_case(state, which, size, free); })
            ->Unit(benchmark::kMillisecond)
            ->Iterations(1);
      }
    }
  }
}

std::size_t operations_of(const ir::Arena& arena, const ir::Graph& graph) {
  const std::vector<ir::NodeId> order = ir::topological_order(arena, graph);
  return static_cast<std::size_t>(
      std::count_if(order.begin(), order.end(), [&](ir::NodeId id) { return arena.node(id).kind == ir::NodeKind::operation; }));
}

// One search of a deep transformer on the roofline with priced copies.
void search_transformer(benchmark::State& state, int layers) {
  ir::Arena arena;
  const ir::Graph graph = bench::transformer(arena, layers);
  const auto device = bench::roofline(false);
  cost::Database database = cost::Database::open("", device->info());
  cost::CostModel model(arena, *device, database, [](ir::SymbolId) { return std::int64_t{128}; });
  const rules::VerifiedRules& rules = shipped_rules();  // read before the clock starts
  search::Outcome outcome;
  const auto start = std::chrono::steady_clock::now();
  for (auto _ : state) {
    search::RuleRewriter rewriter(rules, {});
    search::Options options;
    options.max_states = states_of_environment();
    options.prices_are_known = true;
    options.strategy = strategy_of_environment();
    outcome = search::search(
        arena, graph, rewriter, [&](const ir::WorkGraph& work_graph) { return model.follow(work_graph); }, options);
  }
  state.counters["search_s"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  state.counters["nodes"] = static_cast<double>(operations_of(arena, graph));
  state.counters["states"] = static_cast<double>(outcome.states);
  state.counters["best_states"] = static_cast<double>(outcome.best_states);
  state.counters["to_best_s"] = outcome.best_seconds;
  state.counters["peak_MB"] = peak_megabytes();
  state.counters["saved_%"] = 100 * (outcome.before / outcome.after - 1);
}

void register_transformers() {
  for (const int layers : {1, 200}) {
    const std::string name = "transformer/" + std::to_string(layers);
    benchmark::RegisterBenchmark(name.c_str(), [layers](benchmark::State& state) { search_transformer(state, layers); })
        ->Unit(benchmark::kMillisecond)
        ->Iterations(1);
  }
}

void search_model(benchmark::State& state, const std::string& path) {
  const auto document = onnx_io::Document::open(path);
  if (!document) return state.SkipWithError(document.error().text().c_str());
  ir::Arena arena;
  const auto model = onnx_io::lift(*document, arena);
  if (!model) return state.SkipWithError(model.error().text().c_str());
  search_from(state, arena, model->graph, states_of_environment());
}

}  // namespace
}  // namespace xflow

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  xflow::register_cases();
  xflow::register_transformers();
  for (int k = 1; k < argc; ++k) {
    const std::string path = argv[k];
    benchmark::RegisterBenchmark(path.c_str(), [path](benchmark::State& state) { xflow::search_model(state, path); })
        ->Unit(benchmark::kMillisecond)
        ->Iterations(1);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
