// Memory of a search: the states that it drops, and rewrites whose effect depends on very many nodes.
#include <gtest/gtest.h>

#include "tests/search/toy.h"

namespace xflow::search {
namespace {

class Memory : public Toy {
 protected:
  // A chain of 30 operations, each of which goes through three more expensive ones before it gets cheap: about 5^30
  // graphs, of which most are within alpha.
  ir::Graph large_graph() {
    rules = {{'a', 'b'}, {'b', 'c'}, {'c', 'd'}, {'d', 'a'}};
    prices = {{'a', 100}, {'b', 101}, {'c', 102}, {'d', 60}};
    return ir::Graph{{chain(std::string(30, 'a'), x)}};
  }
  static Options within(std::uint64_t bytes) {
    Options options;
    options.strategy = Strategy::backtracking;
    options.alpha = 1.2;
    options.max_states = 20'000;
    options.max_bytes = bytes;
    return options;
  }
};

constexpr std::uint64_t kPlenty = std::uint64_t{1} << 30U;
constexpr std::uint64_t kLittle = 200'000;  // about 1,000 states

TEST_F(Memory, ExpensiveStatesAreDroppedAndTheSearchGoesOn) {
  const ir::Graph graph = large_graph();
  const Outcome plenty = run(graph, within(kPlenty));
  const Outcome little = run(graph, within(kLittle));
  EXPECT_EQ(plenty.stop, StopReason::max_states);
  EXPECT_EQ(little.stop, StopReason::max_states) << "a full memory does not end the search";
  EXPECT_NE(plenty.expanded, little.expanded);
  EXPECT_LT(little.after, little.before);
  EXPECT_EQ(little.best, run(graph, within(kLittle)).best);
  // The path to the result is one of rewrites of the original, although states were dropped and numbered again.
  const std::vector<TracedRewrite> trace = [&] {
    std::vector<TracedRewrite> steps;
    for (const Step& step : little.steps) steps.push_back({step.rule, static_cast<std::uint64_t>(step.root), step.match});
    return steps;
  }();
  Options replaying;
  replaying.replay = &trace;
  EXPECT_EQ(run(graph, replaying).best, little.best);
}

TEST_F(Memory, ASearchThatDroppedStatesDoesNotSayThatNoneIsLeft) {
  rules = {{'a', 'b'}, {'b', 'a'}, {'c', 'd'}, {'d', 'c'}};
  prices = {{'a', 100}, {'b', 100}, {'c', 100}, {'d', 100}};
  const ir::Graph graph{{chain("acacacacacac", x)}};
  Options options = within(kPlenty);
  options.max_states = 1'000'000;
  EXPECT_EQ(run(graph, options).stop, StopReason::exhausted);
  EXPECT_STREQ(to_string(StopReason::search_memory), "no state left in the memory of the search");
  options.alpha = 1;
  options.max_bytes = 1;
  EXPECT_EQ(run(graph, options).stop, StopReason::search_memory);
}

TEST_F(Memory, FinalistsSurviveTheStatesThatAreDropped) {
  const ir::Graph graph = large_graph();
  rules.emplace_back('a', 'e');
  prices['e'] = 90;
  Options options = within(kLittle);
  options.finalists = 4;
  const Outcome outcome = run(graph, options);
  EXPECT_FALSE(outcome.others.empty());
  for (const Finalist& other : outcome.others) {
    EXPECT_LT(other.after, outcome.before);
    double sum = 0;
    for (const ir::NodeId id : ir::topological_order(arena, other.graph))
      if (arena.node(id).kind == ir::NodeKind::operation) sum += prices.at(static_cast<char>(arena.node(id).op));
    EXPECT_EQ(other.after.count(), sum);
  }
}

TEST_F(Memory, AStrategyOfTheCallerEndsThere) {
  class All final : public SearchStrategy {
   public:
    void search(SearchSpace& space) override {
      std::vector<SearchState> states{space.original()};
      for (std::size_t k = 0; k < states.size() && !space.is_over(); ++k)
        for (const PossibleRewrite& rewrite : space.rewrites(states[k]))
          if (const auto next = space.apply(states[k], rewrite)) states.push_back(*next);
    }
  } all;
  Options options = within(kLittle);
  options.own_strategy = &all;
  options.max_states = 1'000'000;
  const Outcome outcome = run(large_graph(), options);
  EXPECT_EQ(outcome.stop, StopReason::search_memory);
  EXPECT_LT(outcome.states, 20'000U);
}

// Prices of operations by their letters, except that b is cheap only beside a c, wherever it is: the effect of
// every rewrite depends on all nodes.
class FarCost final : public cost::IncrementalCost {
 public:
  explicit FarCost(const ir::WorkGraph& graph) : graph_(graph) { update({}); }
  void update(std::span<const ir::WorkGraph::Change>) override {
    std::map<char, int> letters;
    for (const ir::NodeId id : graph_.order()) ++letters[static_cast<char>(graph_.arena().node(id).op)];
    nodes_ = graph_.order();
    sum_ = 100 * letters['a'] + 100 * letters['d'] + 99 * letters['c'] + (letters['c'] > 0 ? 10 : 120) * letters['b'];
  }
  cost::Ticks time() const override { return cost::ticks_of(Nanoseconds{sum_}); }
  bool comparable() const override { return true; }
  cost::Ticks time_of(std::span<const ir::NodeId>) const override { return {}; }
  std::size_t mark() override {
    marks_.push_back(sum_);
    return marks_.size() - 1;
  }
  void undo(std::size_t mark) override {
    sum_ = marks_[mark];
    marks_.resize(mark);
    nodes_ = graph_.order();
  }
  std::span<const ir::NodeId> footprint() const override { return nodes_; }
  std::vector<ir::NodeId> changed(std::size_t) const override { return graph_.order(); }

 private:
  const ir::WorkGraph& graph_;
  std::vector<ir::NodeId> nodes_;
  double sum_ = 0;
  std::vector<double> marks_;
};

TEST_F(Memory, EffectsThatDependOnVeryManyNodesAreComputedInEachState) {
  rules = {{'a', 'b'}, {'d', 'c'}};
  for (const std::size_t length : {10U, 1'100U}) {
    const std::string middle(length, 'e');
    const ir::Graph graph{{chain("a" + middle + "d", x)}};
    const auto follow = [](const ir::WorkGraph& work) { return std::make_unique<FarCost>(work); };
    Options options;
    options.max_states = 1'000;
    const Outcome outcome = search(arena, graph, *this, follow, options);
    EXPECT_EQ(outcome.best, (ir::Graph{{chain("b" + middle + "c", x)}})) << length;
    EXPECT_EQ(outcome.after.count(), 109);
  }
}

}  // namespace
}  // namespace xflow::search
