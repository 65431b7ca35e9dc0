#include "src/search/search.h"

#include <gtest/gtest.h>

namespace xflow::search {
namespace {

using cost::Nanoseconds;

// A toy language: unary operators a, b, c, d, ... with a price each, and rules that replace one operator by another.
class Toy : public ::testing::Test, public Rewriter {
 protected:
  static constexpr ir::OperatorId op(char c) { return static_cast<ir::OperatorId>(c); }
  ir::ValueId apply(char c, ir::ValueId x) { return {arena.operation(op(c), {}, {x}, {arena.type(x)}), 0}; }
  ir::ValueId pair(ir::ValueId x, ir::ValueId y) { return {arena.operation(op('+'), {}, {x, y}, {arena.type(x)}), 0}; }
  // "abc" is c(b(a(x))).
  ir::ValueId chain(const std::string& text, ir::ValueId v) {
    for (const char c : text) v = apply(c, v);
    return v;
  }

  void rewrites(const ir::Graph&, const ir::Uses& uses, const std::function<bool(Rewrite)>& found) override {
    for (const ir::NodeId id : uses.order()) {
      const ir::Node& node = arena.node(id);
      if (node.kind != ir::NodeKind::operation || node.operands.size() != 1) continue;
      for (const auto& [from, to] : rules) {
        if (node.op != op(from)) continue;
        const ir::ValueId target = to == '.' ? node.operands[0] : apply(to, node.operands[0]);
        if (!found(Rewrite{std::string(1, from) + " to " + to, {{ir::ValueId{id, 0}, target}}})) return;
      }
    }
  }

  CostFunction cost = [this](const ir::Graph& graph) -> Result<Nanoseconds> {
    Nanoseconds sum;
    for (const ir::NodeId id : ir::topological_order(arena, graph)) {
      const auto price = prices.find(static_cast<char>(arena.node(id).op));
      if (price != prices.end()) sum += Nanoseconds{price->second};
    }
    return sum;
  };

  Outcome run(const ir::Graph& graph, const Options& options = {}) {
    auto outcome = search(arena, graph, *this, cost, options);
    EXPECT_TRUE(outcome);
    return *std::move(outcome);
  }

  ir::Arena arena;
  ir::ValueId x = arena.input({ir::DataType::float32, true, {ir::Poly(4)}}, 0);
  std::vector<std::pair<char, char>> rules;
  std::map<char, double> prices{{'a', 100}, {'b', 100}, {'c', 100}, {'d', 100}};
};

TEST_F(Toy, BacktracksThroughAStepThatCosts) {
  rules = {{'a', 'b'}, {'b', 'c'}};
  prices['b'] = 104;
  prices['c'] = 10;
  const ir::Graph graph{{chain("a", x)}};
  EXPECT_EQ(run(graph).after.value, 10);
  Options greedy;
  greedy.alpha = 1.0;
  EXPECT_EQ(run(graph, greedy).after.value, 100);
}

TEST_F(Toy, WithoutARewriteTheGraphStaysAndTheReasonIsSaid) {
  const ir::Graph graph{{chain("ab", x)}};
  const Outcome outcome = run(graph);
  EXPECT_EQ(outcome.best, graph);
  EXPECT_TRUE(outcome.steps.empty());
  EXPECT_TRUE(outcome.correspondence.empty());
  EXPECT_STREQ(name(outcome.stop), "no state left within alpha of the best");
}

TEST_F(Toy, IndependentSavingsAreAppliedTogether) {
  rules = {{'a', 'b'}};
  prices['b'] = 1;
  ir::ValueId sum = x;
  for (int i = 0; i < 12; ++i) sum = pair(sum, chain(std::string(static_cast<std::size_t>(i), 'd') + "a", x));
  const Outcome outcome = run(ir::Graph{{sum}});
  EXPECT_EQ(outcome.steps.size(), 12U);
  EXPECT_EQ(outcome.rules.at("a to b").applied, 12U);
  // Single steps alone would visit up to 2^12 graphs.
  EXPECT_LT(outcome.states, 200U);
}

TEST_F(Toy, SavingsAlongOneChainAreCarriedOver) {
  rules = {{'a', '.'}, {'b', '.'}};
  const Outcome outcome = run(ir::Graph{{chain("abababc", x)}});
  EXPECT_EQ(outcome.best.outputs[0], chain("c", x));
  EXPECT_EQ(outcome.after.value, 100);
  EXPECT_EQ(outcome.steps.size(), 6U);
}

TEST_F(Toy, CorrespondenceNamesTheEqualValueOfTheResult) {
  rules = {{'a', 'b'}, {'b', 'c'}};
  prices['b'] = 60;
  prices['c'] = 50;
  const ir::ValueId inner = chain("a", x);
  const ir::ValueId outer = chain("d", inner);
  const Outcome outcome = run(ir::Graph{{outer, inner}});
  EXPECT_EQ(outcome.correspondence.at(inner), chain("c", x));
  EXPECT_EQ(outcome.correspondence.at(outer), chain("cd", x));
  EXPECT_EQ(outcome.best.outputs, (std::vector<ir::ValueId>{chain("cd", x), chain("c", x)}));
}

TEST_F(Toy, StopsWhenTheBudgetOfStatesIsUsedUpAndMoreIsNeverWorse) {
  rules = {{'a', 'b'}, {'b', 'c'}, {'c', 'd'}, {'d', 'a'}};
  prices = {{'a', 100}, {'b', 99}, {'c', 103}, {'d', 60}};
  const ir::Graph graph{{chain("aaaaaa", x)}};
  double last = 1e9;
  for (const std::uint64_t states : {1, 2, 5, 10, 50, 200, 2000}) {
    Options options;
    options.max_states = states;
    const Outcome outcome = run(graph, options);
    EXPECT_LE(outcome.after.value, last);
    EXPECT_LE(outcome.states, states + 1);
    last = outcome.after.value;
    if (states <= 10) {
      EXPECT_EQ(outcome.stop, StopReason::states);
    }
  }
  EXPECT_EQ(last, 360);
}

TEST_F(Toy, SameInputGivesTheSameSteps) {
  rules = {{'a', 'b'}, {'b', 'c'}, {'c', 'd'}, {'d', '.'}};
  prices = {{'a', 100}, {'b', 101}, {'c', 99}, {'d', 100}};
  const ir::Graph graph{{pair(chain("abcd", x), chain("dcba", x))}};
  const Outcome first = run(graph);
  const Outcome second = run(graph);
  EXPECT_EQ(first.best, second.best);
  EXPECT_EQ(first.states, second.states);
  ASSERT_EQ(first.steps.size(), second.steps.size());
  for (std::size_t i = 0; i < first.steps.size(); ++i) EXPECT_EQ(first.steps[i].rule, second.steps[i].rule);
}

TEST_F(Toy, InadmissibleOperationsNeverStandInAResult) {
  rules = {{'a', 'b'}};
  prices['b'] = 1;
  Options options;
  options.admissible = [&](ir::NodeId id) { return arena.node(id).op != op('b'); };
  EXPECT_EQ(run(ir::Graph{{chain("a", x)}}, options).after.value, 100);
}

TEST_F(Toy, ConstantsAreCountedOnceAndAsTheyWillBeComputed) {
  const auto weight = [&](std::int64_t n) {
    return arena.constant(*ir::make_constant(ir::DataType::float32, {n}, std::vector<double>(static_cast<std::size_t>(n), 1)));
  };
  const ir::ValueId v = pair(x, weight(4));
  EXPECT_EQ(constant_bytes(arena, ir::Graph{{v}}), 16U);
  EXPECT_EQ(constant_bytes(arena, ir::Graph{{pair(v, weight(4))}}), 16U);
  EXPECT_EQ(constant_bytes(arena, ir::Graph{{pair(v, pair(weight(4), weight(4)))}}), 32U);
}

// a(x) becomes the cheaper b(x) + w with 4,000 bytes of w.
class Growing final : public Rewriter {
 public:
  explicit Growing(ir::Arena& arena) : arena_(arena) {}
  void rewrites(const ir::Graph&, const ir::Uses& uses, const std::function<bool(Rewrite)>& found) override {
    const ir::ValueId w = arena_.constant(*ir::make_constant(ir::DataType::float32, {1000}, std::vector<double>(1000, 1)));
    for (const ir::NodeId id : uses.order()) {
      const ir::Node& node = arena_.node(id);
      if (node.op != static_cast<ir::OperatorId>('a')) continue;
      const ir::ValueId b{arena_.operation(static_cast<ir::OperatorId>('b'), {}, node.operands, node.outputs), 0};
      const ir::ValueId sum{arena_.operation(static_cast<ir::OperatorId>('+'), {}, {b, w}, node.outputs), 0};
      if (!found(Rewrite{"grow", {{ir::ValueId{id, 0}, sum}}})) return;
    }
  }

 private:
  ir::Arena& arena_;
};

TEST_F(Toy, ConstantsMayNotGrowBeyondTheLimit) {
  prices['b'] = 1;
  const ir::ValueId four = arena.constant(*ir::make_constant(ir::DataType::float32, {4}, std::vector<double>(4, 1)));
  const ir::Graph graph{{pair(chain("a", x), four)}};
  Growing growing(arena);
  Options options;
  options.max_growth = 249;  // 16 bytes may become 4,000: 16 and 4,000 together are too many
  const auto kept = search(arena, graph, growing, cost, options);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->best, graph);
  options.max_growth = 250;
  const auto grown = search(arena, graph, growing, cost, options);
  ASSERT_TRUE(grown);
  EXPECT_EQ(grown->after.value, 1);
}

TEST_F(Toy, GraphsWithoutACostAreNoCandidates) {
  rules = {{'a', 'b'}};
  const CostFunction priced = cost;
  cost = [&, priced](const ir::Graph& graph) -> Result<Nanoseconds> {
    for (const ir::NodeId id : ir::topological_order(arena, graph))
      if (arena.node(id).op == op('b')) return fail(ErrorCode::unsupported, "cannot run b here");
    return priced(graph);
  };
  EXPECT_EQ(run(ir::Graph{{chain("a", x)}}).after.value, 100);
  const auto impossible = search(arena, ir::Graph{{chain("b", x)}}, *this, cost, {});
  ASSERT_FALSE(impossible);
  EXPECT_EQ(impossible.error().text(), "cannot run b here");
}

}  // namespace
}  // namespace xflow::search
