// The lower bound of a search, compared with all graphs that the rules reach.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <random>

#include "tests/search/toy.h"

namespace xflow::search {
namespace {

class LowerBounds : public Toy {
 protected:
  static Options options(std::uint64_t states) {
    Options options;
    options.max_states = states;
    options.bound_states = 1'000'000;
    return options;
  }
  double price_of(ir::ValueId output) const {
    double sum = 0;
    for (const ir::NodeId id : ir::topological_order(arena, ir::Graph{{output}})) {
      const auto price = prices.find(static_cast<char>(arena.node(id).op));
      if (arena.node(id).kind == ir::NodeKind::operation && price != prices.end()) sum += price->second;
    }
    return sum;
  }
  // The value with one operation replaced for all of its users, by the rule.
  ir::ValueId rewritten(ir::ValueId value, ir::NodeId at, char to) {
    std::map<ir::ValueId, ir::ValueId> known;
    const std::function<ir::ValueId(ir::ValueId)> rebuild = [&](ir::ValueId v) -> ir::ValueId {
      if (arena.node(v.node).kind != ir::NodeKind::operation) return v;
      if (const auto found = known.find(v); found != known.end()) return found->second;
      const ir::Node node = arena.node(v.node);
      std::vector<ir::ValueId> operands;
      for (const ir::ValueId operand : node.operands) operands.push_back(rebuild(operand));
      const auto letter = static_cast<char>(node.op);
      ir::ValueId made;
      if (v.node == at) {
        made = to == '.' ? operands[0] : apply(to, operands[0]);
      } else {
        made = operands.size() == 2 ? pair(operands[0], operands[1]) : apply(letter, operands[0]);
      }
      return known[v] = made;
    };
    return rebuild(value);
  }
  // The least price of all graphs that the rules reach. Nothing if they are more than `most`.
  std::optional<double> least(ir::ValueId output, std::size_t most) {
    std::set<ir::ValueId> seen = {output};
    std::deque<ir::ValueId> left = {output};
    double best = price_of(output);
    while (!left.empty()) {
      const ir::ValueId graph = left.front();
      left.pop_front();
      for (const ir::NodeId id : ir::topological_order(arena, ir::Graph{{graph}})) {
        const ir::Node node = arena.node(id);
        for (const auto& [from, to] : rules) {
          if (node.kind != ir::NodeKind::operation || node.operands.size() != 1 || node.op != op(from)) continue;
          const ir::ValueId next = rewritten(graph, id, to);
          if (!seen.insert(next).second) continue;
          best = std::min(best, price_of(next));
          left.push_back(next);
        }
      }
      if (seen.size() > most) return std::nullopt;
    }
    return best;
  }
};

TEST_F(LowerBounds, IsTheLeastCostOfAllGraphsOfASmallGraph) {
  std::mt19937 random(1);
  int compared = 0;
  int improved = 0;
  for (int k = 0; k < 2'000; ++k) {
    make_random_rules(random, 4, 100);
    const ir::ValueId output = random_value(random, 6);
    const auto best = least(output, 60);
    if (!best) continue;
    const Outcome outcome = run(ir::Graph{{output}}, options(static_cast<std::uint64_t>(1 + below(random, 200))));
    ASSERT_TRUE(outcome.bound);
    ASSERT_EQ(outcome.bound->parts, 1U);
    ASSERT_EQ(outcome.bound->open_parts, 0U);
    ASSERT_EQ(outcome.bound->time.count(), *best);
    ASSERT_GE(outcome.after.count(), *best);
    ++compared;
    improved += *best < outcome.before.count() ? 1 : 0;
  }
  EXPECT_GT(compared, 1'000);
  EXPECT_GT(improved, 500);
}

TEST_F(LowerBounds, IsReachedThroughAnEGraphOfASmallGraph) {
  std::mt19937 random(2);
  int compared = 0;
  for (int k = 0; k < 1'000; ++k) {
    make_random_rules(random, 4, 1'000);
    const ir::ValueId output = random_value(random, 6);
    const auto best = least(output, 60);
    if (!best) continue;
    Options how = options(20'000);
    how.bound_states = 0;
    how.strategy = Strategy::egraph;
    EXPECT_EQ(run(ir::Graph{{output}}, how).after.count(), *best) << "round " << k;
    ++compared;
  }
  EXPECT_GT(compared, 500);
}

TEST_F(LowerBounds, AddsUpWhatTheRulesSaveInPartsThatDoNotOverlap) {
  rules = {{'a', 'b'}, {'b', 'c'}, {'d', '.'}};
  prices = {{'a', 100}, {'b', 130}, {'c', 40}, {'d', 5}, {'e', 7}};
  const auto states = [&](int length) {
    std::string text;
    for (int k = 0; k < length; ++k) text += "aed";
    const Outcome outcome = run(ir::Graph{{chain(text, x)}}, options(10));
    EXPECT_GE(outcome.bound->parts, 4U);
    EXPECT_EQ(outcome.bound->open_parts, 0U);
    EXPECT_EQ(outcome.bound->time.count(), length * (40 + 7));
    EXPECT_GE(outcome.after, outcome.bound->time);
    return outcome.bound->states;
  };
  // Parts of equal structure are searched once.
  EXPECT_LT(states(160), 2 * states(40));
}

TEST_F(LowerBounds, APartWithTooManyGraphsCountsAsFree) {
  rules = {{'a', '2'}, {'c', 'b'}};
  prices = {{'a', 100}, {'b', 10}, {'c', 50}};
  const Outcome outcome = run(ir::Graph{{chain("acccccccccc", x)}}, options(100));
  ASSERT_TRUE(outcome.bound);
  EXPECT_EQ(outcome.bound->open_parts, 1U);
  EXPECT_GE(outcome.bound->open_time.count(), 100);
  EXPECT_LE(outcome.bound->open_time.count(), 150);  // the smallest parts have two operations
  EXPECT_EQ(outcome.after.count(), 100 + 10 * 10);
  EXPECT_LE(outcome.bound->time.count(), 10 * 10);
  EXPECT_GE(outcome.bound->time.count(), 9 * 10);
}

TEST_F(LowerBounds, PartsForWhichThereIsNoBudgetAreOpen) {
  rules = {{'a', 'b'}, {'b', 'c'}, {'c', 'd'}};
  const ir::Graph graph{{chain("abababababababababababababababababababab", x)}};
  Options few = options(10);
  few.bound_states = 100;
  const Outcome outcome = run(graph, few);
  EXPECT_GT(outcome.bound->open_parts, 0U);
  EXPECT_LE(outcome.bound->states, 110U);
  few.bound_states = 0;
  EXPECT_FALSE(run(graph, few).bound);
  EXPECT_TRUE(run(graph, options(10)).bound);
  Options ended = options(10);
  bool over = false;
  ended.stop = [&]() -> std::optional<StopReason> { return over ? std::optional(StopReason::cancelled) : std::nullopt; };
  over = true;
  EXPECT_FALSE(run(graph, ended).bound);
}

TEST_F(LowerBounds, ABetterGraphThatItMeetsIsTheResult) {
  // Two steps that cost more than alpha allows before one that saves.
  rules = {{'a', 'b'}, {'b', 'c'}, {'c', 'd'}};
  prices = {{'a', 100}, {'b', 400}, {'c', 900}, {'d', 10}};
  const ir::Graph graph{{chain("a", x)}};
  Options without = options(100);
  without.bound_states = 0;
  EXPECT_EQ(run(graph, without).after.count(), 100);
  const Outcome outcome = run(graph, options(100));
  EXPECT_EQ(outcome.after.count(), 10);
  EXPECT_EQ(outcome.bound->time.count(), 10);
}

// Drops a product by the number 1.
class OnesRewriter final : public Rewriter {
 public:
  void rewrites(ir::WorkGraph& graph, ir::NodeId root, std::vector<ir::NodeId>&, const std::function<void(Rewrite)>& found) override {
    const ir::Node& node = graph.arena().node(root);
    if (node.operands.size() != 2 || !graph.arena().is_constant(node.operands[1])) return;
    if (ir::doubles(graph.arena().node(node.operands[1].node).constant)->at(0) != 1) return;
    const ir::ValueId operand = node.operands[0];
    found(Rewrite{"one", [=](ir::Arena&) { return std::vector<ir::Replacement>{{{root, 0}, operand}}; }});
  }
};

TEST_F(LowerBounds, PartsOfEqualStructureWithOtherNumbersSaveOtherTimes) {
  prices['+'] = 10;
  const auto number = [&](double value) {
    return arena.constant(*ir::make_constant(ir::DataType::float32, {1}, std::vector<double>{value}));
  };
  // The first half has nothing to save, and the second half all.
  ir::ValueId y = x;
  for (int k = 0; k < 32; ++k) y = apply('e', pair(y, number(2)));
  for (int k = 0; k < 32; ++k) y = apply('e', pair(y, number(1)));
  OnesRewriter rewriter;
  const Outcome outcome = run(ir::Graph{{y}}, rewriter, options(1'000));
  ASSERT_TRUE(outcome.bound);
  EXPECT_GT(outcome.bound->parts, 4U);
  EXPECT_EQ(outcome.before.count(), 640);
  EXPECT_EQ(outcome.after.count(), 320);
  EXPECT_EQ(outcome.bound->open_parts, 0U);
  EXPECT_EQ(outcome.bound->time.count(), 320);
}

// Replaces 'b' by its operand, which needs the first operation of the graph, too.
class FarRewriter final : public Rewriter {
 public:
  void rewrites(ir::WorkGraph& graph, ir::NodeId root, std::vector<ir::NodeId>&, const std::function<void(Rewrite)>& found) override {
    const ir::Node& node = graph.arena().node(root);
    if (node.op != ir::OperatorId{'b'}) return;
    const auto build = [root, operand = node.operands[0]](ir::Arena&) { return std::vector<ir::Replacement>{{{root, 0}, operand}}; };
    found(Rewrite{"far", build, Merge::none, {root, graph.order()[1]}});  // after the input
  }
};

TEST_F(LowerBounds, RewritesOfOperationsInOtherPartsAreLeftOut) {
  prices = {{'b', 100}, {'e', 7}};
  const ir::Graph graph{{chain(std::string(20, 'e') + "b" + std::string(19, 'e'), x)}};
  FarRewriter rewriter;
  Options few = options(1);
  few.bound_states = 1;
  const Outcome parts = run(graph, rewriter, few);
  EXPECT_EQ(parts.bound->open_parts, 0U);
  EXPECT_EQ(parts.bound->time.count(), 100 + 39 * 7);
  // With a larger budget the parts are larger: both operations are in one.
  const Outcome larger = run(graph, rewriter, options(1));
  EXPECT_EQ(larger.bound->open_parts, 0U);
  EXPECT_LT(larger.bound->parts, parts.bound->parts);
  EXPECT_EQ(larger.bound->time.count(), 39 * 7);
}

// Replaces 'a' and 'b' by a sum with a new constant of 4,000 bytes, and a '*' by two of it.
class GrowingRewriter final : public Rewriter {
 public:
  void rewrites(ir::WorkGraph& graph, ir::NodeId root, std::vector<ir::NodeId>&, const std::function<void(Rewrite)>& found) override {
    const ir::Node& node = graph.arena().node(root);
    if (node.op == ir::OperatorId{'*'}) {
      const auto twice = [root, weight = node.operands[1]](ir::Arena& arena) {
        const ir::TensorType type = arena.type({root, 0});
        const ir::NodeId outer = arena.operation(ir::OperatorId{'*'}, {}, {ir::ValueId{root, 0}, weight}, {type});
        return std::vector<ir::Replacement>{{{root, 0}, {outer, 0}}};
      };
      found(Rewrite{"endless", twice, Merge::none, {root}});
    }
    if (node.op != ir::OperatorId{'a'} && node.op != ir::OperatorId{'b'}) return;
    const auto build = [root, operand = node.operands[0]](ir::Arena& arena) {
      std::vector<double> values(1'000, static_cast<double>(root));
      const ir::ValueId weight = arena.constant(*ir::make_constant(ir::DataType::float32, {1'000}, values));
      const ir::TensorType type = arena.type(operand);
      return std::vector<ir::Replacement>{{{root, 0}, {arena.operation(ir::OperatorId{'+'}, {}, {operand, weight}, {type}), 0}}};
    };
    found(Rewrite{"grow", build, Merge::none, {root}});
  }
};

TEST_F(LowerBounds, PartsShareOneLimitOfGrowth) {
  prices = {{'a', 100}, {'b', 60}, {'e', 7}, {'+', 10}};
  const std::string rest(20, 'e');
  const ir::Graph graph{{chain(rest + "b" + rest + "a" + rest + "a" + rest, x)}};
  GrowingRewriter rewriter;
  const double original = 260 + 80 * 7;
  for (const auto& [kilobytes, saved] : std::vector<std::pair<std::uint64_t, double>>{{0, 0}, {4, 90}, {8, 180}, {12, 230}, {100, 230}}) {
    Options limited = options(1);
    limited.max_growth = 0;
    limited.max_growth_bytes = kilobytes * 1'000;
    const Outcome outcome = run(graph, rewriter, limited);
    EXPECT_GT(outcome.bound->parts, 2U);
    EXPECT_EQ(outcome.bound->open_parts, 0U);
    EXPECT_EQ(outcome.bound->time.count(), original - saved) << kilobytes;
    // The search itself had no state left.
    EXPECT_EQ(outcome.after.count(), original - saved) << kilobytes;
    EXPECT_LE(outcome.constant_bytes_after, kilobytes * 1'000);
  }
  // The third constant fits by half: the bound counts half of what it saves, and no graph does that.
  Options limited = options(1);
  limited.max_growth = 0;
  limited.max_growth_bytes = 10'000;
  const Outcome outcome = run(graph, rewriter, limited);
  EXPECT_EQ(outcome.bound->time.count(), original - 180 - 25);
  EXPECT_EQ(outcome.after.count(), original - 180);
}

TEST_F(LowerBounds, OpenPartsMayGiveTheirConstantsToOthers) {
  prices = {{'a', 100}, {'e', 7}, {'+', 10}, {'*', 50}};
  const ir::ValueId weight = arena.constant(*ir::make_constant(ir::DataType::float32, {1'000}, std::vector<double>(1'000, 2)));
  const ir::ValueId product = {arena.operation(op('*'), {}, {chain(std::string(20, 'e'), x), weight}, {arena.type(x)}), 0};
  const ir::Graph graph{{chain(std::string(20, 'e') + "a" + std::string(20, 'e') + "a", product)}};
  GrowingRewriter rewriter;
  Options limited = options(1);
  const auto bound_with = [&](double growth) {
    limited.max_growth = growth;
    const Outcome outcome = run(graph, rewriter, limited);
    EXPECT_EQ(outcome.bound->open_parts, 1U);
    return outcome.bound->time.count() + outcome.bound->open_time.count();
  };
  // The limit allows one new constant. The open part reads as many bytes, which makes two.
  EXPECT_EQ(bound_with(1), 50 + 60 * 7 + 10 + 10);
  // No part grows by more than the limit.
  EXPECT_EQ(bound_with(0.5), 50 + 60 * 7 + 100 + 100);
}

}  // namespace
}  // namespace xflow::search
