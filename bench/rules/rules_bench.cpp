// Loading the shipped rules, and matching them on a graph of about 1,000 operations: 90 blocks of three branches, each a convolution or the
// identity with batch normalisation, as they are lifted.
//
// Counters: rules; nodes a second; matches a second.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "src/optimizer/shipped_rules.h"
#include "src/rules/apply.h"
#include "src/rules/verified_rules.h"

namespace xflow {
namespace {

using ir::Poly;
using ir::ValueId;

std::vector<rules::RuleHash> proved() {
  std::vector<rules::RuleHash> hashes;
  for (const rules::ClassifiedRule& rule : api::proved_shipped_rules()) hashes.push_back(rule.rule);
  std::sort(hashes.begin(), hashes.end());
  return hashes;
}

rules::VerifiedRules shipped(benchmark::State& state) {
  rules::VerifiedRules set(proved());
  for (const api::ShippedFile& file : api::shipped_rule_files()) {
    if (const auto added = set.add(file.text, file.name); !added) state.SkipWithError(added.error().text().c_str());
  }
  return set;
}

class Blocks {
 public:
  explicit Blocks(int blocks) {
    ValueId y = arena_.input({ir::DataType::float32, true, {arena_.symbols().named(ir::SymbolKind::dimension, "N"), 16, 24, 24}}, 0);
    for (int k = 0; k < blocks; ++k) {
      const ValueId three = normalised(convolution(y, 3, 1));
      const ValueId one = normalised(convolution(y, 1, 0));
      y = apply("relu", {apply("add", {apply("add", {three, one}), normalised(y)})});
    }
    graph_.outputs = {y};
  }
  ir::Arena& arena() { return arena_; }
  const ir::Graph& graph() const { return graph_; }

 private:
  ValueId apply(std::string_view op, std::vector<ValueId> operands, ir::Attributes attributes = {}) {
    return *ops::apply(arena_, op, std::move(operands), std::move(attributes));
  }
  ValueId weight(std::vector<std::int64_t> dims) {
    std::size_t count = 1;
    for (const std::int64_t d : dims) count *= static_cast<std::size_t>(d);
    const std::vector<double> values(count, 0.125 * ++weights_);
    return arena_.constant(*ir::make_constant(ir::DataType::float32, std::move(dims), values));
  }
  ValueId convolution(ValueId x, std::int64_t kernel, std::int64_t pad) {
    return apply("conv", {x, weight({16, 16, kernel, kernel})}, {{"pads", std::vector<Poly>(4, Poly(pad))}});
  }
  ValueId normalised(ValueId x) { return apply("add", {apply("mul", {x, weight({16, 1, 1})}), weight({16, 1, 1})}); }

  ir::Arena arena_;
  ir::Graph graph_;
  int weights_ = 0;
};

void LoadShippedRules(benchmark::State& state) {
  std::size_t count = 0;
  for (auto _ : state) count = shipped(state).size();
  state.counters["rules"] = static_cast<double>(count);
}
BENCHMARK(LoadShippedRules)->Unit(benchmark::kMillisecond);

// Of a graph whose nodes exist: each node is hashed when it is made.
void StructuralHash(benchmark::State& state) {
  Blocks blocks(90);
  for (auto _ : state) benchmark::DoNotOptimize(ir::structural_hash(blocks.arena(), blocks.graph()));
}
BENCHMARK(StructuralHash)->Unit(benchmark::kNanosecond);

// Every rule at every operation of the graph; with `apply` each target is built as well.
void match_all(benchmark::State& state, bool apply) {
  Blocks blocks(90);
  const rules::VerifiedRules set = shipped(state);
  const ir::Uses uses(blocks.arena(), blocks.graph());
  std::size_t matches = 0;
  for (auto _ : state) {
    for (const ir::NodeId node : uses.order()) {
      set.match(blocks.arena(), uses, node, {}, [&](rules::RuleId, rules::Match& match) {
        ++matches;
        if (apply) benchmark::DoNotOptimize(rules::apply(blocks.arena(), match));
        return true;
      });
    }
  }
  state.counters["matches"] = benchmark::Counter(static_cast<double>(matches), benchmark::Counter::kIsRate);
  state.counters["nodes"] = benchmark::Counter(static_cast<double>(uses.order().size()), benchmark::Counter::kIsIterationInvariantRate);
}
void Match(benchmark::State& state) { match_all(state, false); }
void MatchAndApply(benchmark::State& state) { match_all(state, true); }
BENCHMARK(Match)->Unit(benchmark::kMillisecond);
BENCHMARK(MatchAndApply)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace xflow
