// What a step of the search costs on a graph of 1,000 operations, without the cost of kernels: the structural hash, replacing a value in
// the middle (everything downstream is rebuilt), the bytes of constants, and a search whose kernels all cost the same.
//
// Counters: operations; graphs a second.
#include <benchmark/benchmark.h>

#include "src/api/shipped_rules.h"
#include "src/ops/operator.h"
#include "src/search/rule_rewriter.h"

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

void build_and_hash(benchmark::State& state) {
  for (auto _ : state) {
    const Chain chain(static_cast<int>(state.range(0)));
    benchmark::DoNotOptimize(ir::structural_hash(chain.arena, chain.graph));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(build_and_hash)->Arg(1000);

void uses(benchmark::State& state) {
  const Chain chain(static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(ir::Uses(chain.arena, chain.graph).order().size());
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(uses)->Arg(1000);

void replace_in_the_middle(benchmark::State& state) {
  Chain chain(static_cast<int>(state.range(0)));
  double value = 0;
  for (auto _ : state) {
    // A new value each time: nothing downstream is known.
    ir::ValueMap map{{chain.middle, *ops::apply(chain.arena, "add", {chain.middle, chain.number(value += 1)})}};
    benchmark::DoNotOptimize(ir::replace(chain.arena, chain.graph, map).has_value());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(replace_in_the_middle)->Arg(1000)->Iterations(500);

void constant_bytes(benchmark::State& state) {
  const Chain chain(static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(search::constant_bytes(chain.arena, chain.graph));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(constant_bytes)->Arg(1000);

void states(benchmark::State& state) {
  std::vector<rules::RuleHash> proved;
  for (const verifier::ProofRecord& record : api::shipped_rule_records()) proved.push_back(record.rule);
  std::sort(proved.begin(), proved.end());
  rules::VerifiedRules set(proved);
  for (const api::ShippedFile& file : api::shipped_rule_files()) {
    if (const auto added = set.add(file.text, file.name); !added) state.SkipWithError(added.error().text().c_str());
  }
  std::uint64_t graphs = 0;
  for (auto _ : state) {
    Chain chain(static_cast<int>(state.range(0)));
    search::RuleRewriter rewriter(chain.arena, set, {});
    const search::CostFunction one_each = [&](const ir::Graph& graph) -> Result<cost::Nanoseconds> {
      return cost::Nanoseconds{static_cast<double>(ir::topological_order(chain.arena, graph).size())};
    };
    search::Options options;
    options.max_states = 300;
    const auto outcome = search::search(chain.arena, chain.graph, rewriter, one_each, options);
    if (outcome) graphs += outcome->states;
  }
  state.counters["graphs"] = benchmark::Counter(static_cast<double>(graphs), benchmark::Counter::kIsRate);
}
BENCHMARK(states)->Arg(1000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace xflow
