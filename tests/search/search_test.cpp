#include "src/search/search.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/search/toy.h"

namespace xflow::search {
namespace {

TEST_F(Toy, BacktracksThroughAStepThatCosts) {
  rules = {{'a', 'b'}, {'b', 'c'}};
  prices['b'] = 104;
  prices['c'] = 10;
  const ir::Graph graph{{chain("a", x)}};
  EXPECT_EQ(run(graph).after.count(), 10);
  Options greedy;
  greedy.alpha = 1.0;
  EXPECT_EQ(run(graph, greedy).after.count(), 100);
}

TEST_F(Toy, WithoutARewriteTheGraphStaysAndTheReasonIsSaid) {
  const ir::Graph graph{{chain("ab", x)}};
  const Outcome outcome = run(graph);
  EXPECT_EQ(outcome.best, graph);
  EXPECT_TRUE(outcome.steps.empty());
  EXPECT_TRUE(outcome.correspondence.empty());
  EXPECT_STREQ(to_string(outcome.stop), "no state left within alpha of the best");
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
  EXPECT_LT(outcome.states, 400U);
}

TEST_F(Toy, IndependentPartsAddUpInsteadOfMultiplying) {
  // Each part takes two steps that cost time before one that saves it.
  rules = {{'a', 'b'}, {'b', 'c'}, {'c', 'd'}};
  prices = {{'a', 100}, {'b', 101}, {'c', 102}, {'d', 10}, {'e', 100}};
  const auto states = [&](int parts) {
    ir::ValueId sum = x;
    for (int k = 0; k < parts; ++k) sum = pair(sum, chain("eae", chain(std::string(static_cast<std::size_t>(k), 'e'), x)));
    const Outcome outcome = run(ir::Graph{{sum}});
    EXPECT_EQ(outcome.steps.size(), 3U * static_cast<std::size_t>(parts));
    return outcome.best_states;
  };
  EXPECT_LT(states(4), 4U * 20);
  EXPECT_LT(states(32), 32U * 20);
}

// One descent serves all layers of equal structure: per layer only the rewrites that it takes are costed.
TEST_F(Toy, EqualLayersAreDescendedInOnce) {
  rules = {{'a', 'b'}, {'b', 'c'}, {'e', 'f'}, {'g', 'h'}};
  prices = {{'a', 100}, {'b', 90}, {'c', 10}, {'e', 100}, {'f', 150}, {'g', 100}, {'h', 150}};
  const auto states = [&](std::size_t layers) {
    std::string text;
    for (std::size_t k = 0; k < layers; ++k) text += "egegageggeegegegege";
    Options options;
    options.max_states = 5000;
    const Outcome outcome = run(ir::Graph{{chain(text, x)}}, options);
    EXPECT_EQ(outcome.steps.size(), 2 * layers);
    return outcome.best_states;
  };
  const std::uint64_t few = states(20);
  EXPECT_LT(states(60), few + std::uint64_t{40} * 5) << few;
}

TEST_F(Toy, SavingsAlongOneChainAreCarriedOver) {
  rules = {{'a', '.'}, {'b', '.'}};
  const Outcome outcome = run(ir::Graph{{chain("abababc", x)}});
  EXPECT_EQ(outcome.best.outputs[0], chain("c", x));
  EXPECT_EQ(outcome.after.count(), 100);
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

TEST_F(Toy, OthersDoWithoutARuleOfEachThatIsCheaper) {
  rules = {{'a', 'b'}, {'c', 'd'}};
  prices['b'] = 50;
  prices['d'] = 80;
  const ir::Graph graph{{chain("aca", x)}};
  Options options;
  options.alpha = 3;
  options.finalists = 4;
  const Outcome outcome = run(graph, options);
  EXPECT_EQ(outcome.best, (ir::Graph{{chain("bdb", x)}}));
  // Neither "bca" nor "bda", of which the rules are those of a cheaper one.
  ASSERT_EQ(outcome.others.size(), 2U);
  EXPECT_EQ(outcome.others[0].graph, (ir::Graph{{chain("bcb", x)}}));
  EXPECT_EQ(outcome.others[0].after.count(), 200);
  EXPECT_EQ(outcome.others[0].steps.size(), 2U);
  EXPECT_EQ(outcome.others[0].correspondence.at(chain("aca", x)), chain("bcb", x));
  EXPECT_EQ(outcome.others[1].graph, (ir::Graph{{chain("ada", x)}}));
  EXPECT_EQ(outcome.others[1].after.count(), 280);
  EXPECT_EQ(outcome.rules.at("c to d").applied, 1U);
}

TEST_F(Toy, OthersAreGraphsThatDiffer) {
  // Two ways lead to the best graph, by rules that differ.
  rules = {{'a', 'b'}, {'b', 'd'}, {'a', 'd'}, {'c', 'd'}};
  prices['b'] = 90;
  prices['d'] = 10;
  ir::ValueId sum = pair(chain("eae", x), chain("ece", x));
  Options options;
  options.alpha = 3;
  options.finalists = 10;
  const Outcome outcome = run(ir::Graph{{sum}}, options);
  std::set<ir::ValueId> graphs{outcome.best.outputs[0]};
  for (const Finalist& other : outcome.others) EXPECT_TRUE(graphs.insert(other.graph.outputs[0]).second);
  EXPECT_GE(graphs.size(), 3U);
}

TEST_F(Toy, OthersAreAsManyAsAreAskedForAndNoneThatCostsAsMuchAsTheOriginal) {
  rules = {{'a', 'b'}, {'c', 'd'}, {'a', 'c'}};
  prices['b'] = 50;
  prices['d'] = 80;
  const ir::Graph graph{{chain("ac", x)}};
  Options options;
  options.alpha = 3;
  EXPECT_TRUE(run(graph, options).others.empty());
  options.finalists = 2;
  EXPECT_EQ(run(graph, options).others.size(), 1U);
  options.finalists = 10;
  for (const Finalist& other : run(graph, options).others) EXPECT_LT(other.after.count(), 200);
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
    EXPECT_LE(outcome.after.count(), last);
    EXPECT_LE(outcome.states, states + 1);
    last = outcome.after.count();
    if (states <= 10) {
      EXPECT_EQ(outcome.stop, StopReason::max_states);
    }
  }
  EXPECT_EQ(last, 360);
}

// Whoever stops a search gets the best of what was seen by then, and is named as the reason.
TEST_F(Toy, StopsOnRequest) {
  rules = {{'a', 'b'}, {'b', 'c'}, {'c', 'd'}, {'d', 'a'}};
  prices = {{'a', 100}, {'b', 99}, {'c', 103}, {'d', 60}};
  const ir::Graph graph{{chain("aaaaaa", x)}};
  for (const StopReason reason : {StopReason::time_limit, StopReason::memory_limit, StopReason::cancelled}) {
    Options options;
    int asked = 0;
    options.stop = [&]() -> std::optional<StopReason> { return ++asked > 20 ? std::optional(reason) : std::nullopt; };
    const Outcome outcome = run(graph, options);
    EXPECT_EQ(outcome.stop, reason);
    EXPECT_EQ(asked, 21);
    EXPECT_LT(outcome.after.count(), outcome.before.count());
  }
  EXPECT_STREQ(to_string(StopReason::time_limit), "time limit");
  EXPECT_STREQ(to_string(StopReason::memory_limit), "memory limit");
  EXPECT_STREQ(to_string(StopReason::cancelled), "interrupted");
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
  options.admissible = [&](const ir::Arena& in, ir::NodeId id) { return in.node(id).op != op('b'); };
  EXPECT_EQ(run(ir::Graph{{chain("a", x)}}, options).after.count(), 100);
}

TEST_F(Toy, ConstantsAreCountedOnceAndExpressionsAsTheyAreStored) {
  const auto weight = [&](std::int64_t n) {
    return arena.constant(*ir::make_constant(ir::DataType::float32, {n}, std::vector<double>(static_cast<std::size_t>(n), 1)));
  };
  const ir::ValueId v = pair(x, weight(4));
  const auto bytes = [&](ir::ValueId output) { return ir::WorkGraph(arena, ir::Graph{{output}}).constant_bytes(); };
  EXPECT_EQ(bytes(v), 16U);
  EXPECT_EQ(bytes(pair(v, weight(4))), 16U);
  EXPECT_EQ(bytes(pair(v, pair(weight(4), weight(1)))), 16U + 16U) << "the result is smaller than its operands together";
  const ir::ValueId filled{arena.operation(op('f'), {}, {weight(1)}, {ir::TensorType{ir::DataType::float32, true, {ir::Poly(1000)}}}), 0};
  EXPECT_EQ(bytes(pair(x, filled)), 4U);
}

// a(x) becomes the cheaper b(x) + w with 4,000 bytes of w.
class Growing final : public Rewriter {
 public:
  void rewrites(ir::WorkGraph& graph, ir::NodeId root, std::vector<ir::NodeId>&, const std::function<void(Rewrite)>& found) override {
    const ir::Node& node = graph.arena().node(root);
    if (node.op != static_cast<ir::OperatorId>('a')) return;
    const ir::ValueId operand = node.operands[0];
    found(Rewrite{"grow", [=](ir::Arena& arena) {
                    const auto ones = ir::make_constant(ir::DataType::float32, {1000}, std::vector<double>(1000, 1));
                    const ir::ValueId w = arena.constant(*ones);
                    const std::vector<ir::TensorType> type{arena.type(operand)};
                    const ir::ValueId b{arena.operation(static_cast<ir::OperatorId>('b'), {}, {operand}, type), 0};
                    const ir::ValueId sum{arena.operation(static_cast<ir::OperatorId>('+'), {}, {b, w}, type), 0};
                    return std::vector<ir::Replacement>{{{root, 0}, sum}};
                  }});
  }
};

TEST_F(Toy, ConstantsMayNotGrowBeyondTheLimit) {
  prices['b'] = 1;
  const ir::ValueId four = arena.constant(*ir::make_constant(ir::DataType::float32, {4}, std::vector<double>(4, 1)));
  const ir::Graph graph{{pair(chain("a", x), four)}};
  Growing growing;
  Options options;
  options.max_growth = 249;  // 16 bytes may become 4,000: 16 and 4,000 together are too many
  EXPECT_EQ(run(graph, growing, options).best, graph);
  options.max_growth = 250;
  EXPECT_EQ(run(graph, growing, options).after.count(), 1);
}

// a(x) becomes c(x), which is said to merge siblings; b(a(x)) becomes d(x).
class Merging final : public Rewriter {
 public:
  void rewrites(ir::WorkGraph& graph, ir::NodeId root, std::vector<ir::NodeId>& reads, const std::function<void(Rewrite)>& found) override {
    const auto is = [&](ir::NodeId id, char op) { return graph.arena().node(id).op == static_cast<ir::OperatorId>(op); };
    const auto becomes = [&](std::string_view rule, char op, ir::ValueId operand, bool merges) {
      found(Rewrite{rule,
                    [=](ir::Arena& arena) {
                      const std::vector<ir::TensorType> type{arena.type(operand)};
                      const ir::ValueId made{arena.operation(static_cast<ir::OperatorId>(op), {}, {operand}, type), 0};
                      return std::vector<ir::Replacement>{{{root, 0}, made}};
                    },
                    merges ? Merge::some : Merge::none});
    };
    const ir::ValueId operand = graph.arena().node(root).operands[0];
    reads.push_back(operand.node);
    if (is(root, 'a')) becomes("merge", 'c', operand, true);
    if (is(root, 'b') && is(operand.node, 'a')) becomes("add up", 'd', graph.arena().node(operand.node).operands[0], false);
  }
};

TEST_F(Toy, SiblingsAreMergedWhereNothingElseSavesTime) {
  prices['c'] = 90;
  prices['d'] = 10;
  Merging merging;
  Options options;
  options.max_states = 2;
  EXPECT_EQ(run(ir::Graph{{chain("ab", x)}}, merging, options).after.count(), 10);
  const Outcome alone = run(ir::Graph{{chain("a", x)}}, merging, options);
  EXPECT_EQ(alone.after.count(), 90);
}

TEST_F(Toy, GraphsThatCannotBeComparedAreNoCandidates) {
  rules = {{'a', 'b'}};
  prices['b'] = 1;
  impossible = 'b';
  EXPECT_EQ(run(ir::Graph{{chain("a", x)}}).after.count(), 100);
}

TEST_F(Toy, OfEqualTimesTheGraphWithFewerOperationsIsBetter) {
  rules = {{'a', '.'}};
  prices['a'] = 0;
  const ir::Graph graph{{chain("ab", x)}};
  EXPECT_EQ(run(graph).best, graph);
  Options options;
  options.per_operation = Nanoseconds{0.5};
  EXPECT_EQ(run(graph, options).best.outputs[0], chain("b", x));
}

TEST_F(Toy, NodesOfAbandonedGraphsAreFreed) {
  rules = {{'a', 'b'}, {'b', 'c'}, {'c', 'd'}, {'d', 'a'}};
  const ir::Graph graph{{pair(chain("abcdabcd", x), chain("dcba", x))}};
  const std::size_t before = arena.size();
  Options options;
  options.max_states = 3000;
  const Outcome outcome = run(graph, options);
  EXPECT_GE(outcome.states, 3000U);
  // The arena of the model gets the operations of the best graph only.
  EXPECT_LE(arena.size(), before + 2 * 13);
}

}  // namespace
}  // namespace xflow::search
