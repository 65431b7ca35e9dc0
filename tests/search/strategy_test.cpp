// Strategies of a search by name, strategies of the caller, and traces.
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <random>

#include "tests/search/toy.h"
#include "xflow/search_strategy.h"

namespace xflow::search {
namespace {

// A strategy made of a function.
class Own final : public SearchStrategy {
 public:
  explicit Own(std::function<void(SearchSpace&)> body) : body_(std::move(body)) {}
  void search(SearchSpace& space) override { body_(space); }

 private:
  std::function<void(SearchSpace&)> body_;
};

class Strategies : public Toy {
 protected:
  Outcome run_own(const ir::Graph& graph, const std::function<void(SearchSpace&)>& body, Options options = {}) {
    Own own(body);
    options.own_strategy = &own;
    return run(graph, options);
  }
  static std::vector<TracedRewrite> trace_of(const Outcome& outcome) {
    std::vector<TracedRewrite> trace;
    for (const Step& step : outcome.steps) trace.push_back({step.rule, static_cast<std::uint64_t>(step.root), step.match});
    return trace;
  }
  Outcome replay(const ir::Graph& graph, const std::vector<TracedRewrite>& trace) {
    Options options;
    options.replay = &trace;
    return run(graph, options);
  }
};

TEST_F(Strategies, TakeTheirOwnWaysToTheBestGraph) {
  rules = {{'a', 'b'}, {'b', 'c'}, {'c', 'f'}, {'f', 'd'}};
  prices = {{'a', 100}, {'b', 101}, {'c', 102}, {'f', 103}, {'d', 10}, {'e', 100}};
  ir::ValueId sum = x;
  for (int k = 0; k < 12; ++k) sum = pair(sum, chain("eae", chain(std::string(static_cast<std::size_t>(k), 'e'), x)));
  const ir::Graph graph{{sum}};
  Options options;
  options.max_states = 100'000;
  std::map<Strategy, Outcome> found;
  for (const Strategy strategy : {Strategy::automatic, Strategy::backtracking, Strategy::partition}) {
    options.strategy = strategy;
    found.emplace(strategy, run(graph, options));
  }
  EXPECT_EQ(found.at(Strategy::partition).steps.size(), 48U);
  EXPECT_EQ(found.at(Strategy::automatic).after, found.at(Strategy::partition).after);
  EXPECT_EQ(found.at(Strategy::backtracking).after, found.at(Strategy::partition).after);
  EXPECT_NE(found.at(Strategy::backtracking).best_states, found.at(Strategy::partition).best_states);
  EXPECT_EQ(found.at(Strategy::automatic).best_states, found.at(Strategy::partition).best_states);
}

TEST_F(Strategies, PartitionEndsWithoutTheWholeGraph) {
  rules = {{'a', 'b'}};
  prices['b'] = 1;
  Options options;
  options.strategy = Strategy::partition;
  const Outcome outcome = run(ir::Graph{{chain("a", x)}}, options);
  EXPECT_EQ(outcome.after.count(), 1);
  EXPECT_STREQ(to_string(outcome.stop), "end of the strategy");
}

// E-graphs price operations that are in no result.
TEST_F(Strategies, AutoTakesEGraphsWherePricesAreKnown) {
  rules = {{'a', 'b'}, {'b', 'c'}, {'c', 'd'}};
  prices = {{'a', 100}, {'b', 100'000}, {'c', 100'000}, {'d', 1}};
  const ir::Graph graph{{chain(std::string(10, 'a'), x)}};
  Options options;
  EXPECT_EQ(run(graph, options).after.count(), 1'000);
  options.prices_are_known = true;
  EXPECT_EQ(run(graph, options).after.count(), 10);
}

TEST_F(Strategies, EGraphsPassGraphsThatCostMoreThanAlphaAllows) {
  rules = {{'a', 'b'}, {'b', 'c'}, {'c', 'd'}};
  prices = {{'a', 100}, {'b', 100'000}, {'c', 100'000}, {'d', 1}};
  for (const int length : {1, 10, 60}) {
    const ir::Graph graph{{chain(std::string(static_cast<std::size_t>(length), 'a'), x)}};
    Options options;
    options.max_states = 10'000;
    options.strategy = Strategy::partition;
    EXPECT_EQ(run(graph, options).after.count(), 100.0 * length);
    options.strategy = Strategy::egraph;
    const Outcome outcome = run(graph, options);
    EXPECT_EQ(outcome.after.count(), length);
    EXPECT_EQ(outcome.steps.size(), 3U * static_cast<std::size_t>(length));
    EXPECT_EQ(outcome.stop, StopReason::ended);
    EXPECT_LT(outcome.best_states, 1'000U + 100U * static_cast<std::uint64_t>(length));
    EXPECT_EQ(replay(graph, trace_of(outcome)).after, outcome.after);
  }
}

TEST_F(Strategies, EGraphsLeaveOutWhatTheDeviceCannotRun) {
  rules = {{'a', 'b'}, {'a', 'c'}, {'b', 'd'}};
  prices = {{'a', 100}, {'b', 1}, {'c', 50}, {'d', 60}};
  impossible = 'b';
  Options options;
  options.strategy = Strategy::egraph;
  EXPECT_EQ(run(ir::Graph{{chain("aaa", x)}}, options).after.count(), 150);
}

TEST_F(Strategies, EGraphsGiveTheSameInEveryRunAndNeverMoreWithMoreStates) {
  std::mt19937 random(1);
  for (int k = 0; k < 15; ++k) {
    make_random_rules(random, 4, 100);
    if (below(random, 2) == 0) rules.emplace_back('a', '2');
    const ir::Graph graph{{random_value(random, 40)}};
    Options options;
    options.strategy = Strategy::egraph;
    Nanoseconds before{1e9};
    for (const std::uint64_t states : {5U, 20U, 100U, 1'000U, 5'000U}) {
      options.max_states = states;
      const Outcome outcome = run(graph, options);
      const Outcome other = run(graph, options);
      EXPECT_EQ(outcome.after, other.after);
      EXPECT_EQ(outcome.states, other.states);
      EXPECT_EQ(trace_of(outcome).size(), trace_of(other).size());
      EXPECT_LE(outcome.after, before);
      before = outcome.after;
    }
  }
}

TEST_F(Strategies, OfTheCallerSeesEveryRewriteWithItsEffect) {
  rules = {{'a', 'b'}, {'a', '.'}, {'c', 'd'}};
  prices = {{'a', 100}, {'b', 130}, {'c', 50}, {'d', 20}};
  const ir::Graph graph{{chain("ac", x)}};
  const Outcome outcome = run_own(graph, [](SearchSpace& space) {
    EXPECT_EQ(space.original(), SearchState{0});
    EXPECT_EQ(space.time(space.original()).count(), 150);
    const auto rewrites = space.rewrites(space.original());
    ASSERT_EQ(rewrites.size(), 3U);
    EXPECT_EQ(rewrites[0].rule, "a to b");
    EXPECT_EQ(rewrites[0].change.count(), 30);
    EXPECT_EQ(rewrites[1].rule, "a to .");
    EXPECT_EQ(rewrites[1].change.count(), -100);
    EXPECT_EQ(rewrites[2].rule, "c to d");
    const auto next = space.apply(space.original(), rewrites[2]);
    ASSERT_TRUE(next);
    EXPECT_EQ(space.time(*next).count(), 120);
    EXPECT_EQ(space.best(), *next);
    EXPECT_EQ(space.rewrites(*next).size(), 2U);
    // Another order of the same rewrites ends in the same graph, which has one number.
    const auto dropped = space.apply(*next, space.rewrites(*next)[1]);
    const auto first = space.apply(space.original(), rewrites[1]);
    ASSERT_TRUE(dropped && first);
    const auto both = space.apply(*first, space.rewrites(*first)[0]);
    ASSERT_TRUE(both);
    EXPECT_EQ(*both, *dropped);
    EXPECT_EQ(space.hash(*both), space.hash(*dropped));
    EXPECT_NE(space.hash(*both), space.hash(space.original()));
  });
  EXPECT_EQ(outcome.after.count(), 20);
  EXPECT_EQ(outcome.steps.size(), 2U);
  EXPECT_EQ(outcome.stop, StopReason::ended);
}

TEST_F(Strategies, OfTheCallerCannotLeaveTheLimits) {
  rules = {{'a', 'b'}};
  const ir::Graph graph{{chain("a", x)}};
  Options options;
  options.max_states = 2;
  const Outcome outcome = run_own(
      graph,
      [](SearchSpace& space) {
        EXPECT_FALSE(space.is_over());
        const auto rewrites = space.rewrites(space.original());
        ASSERT_EQ(rewrites.size(), 1U);
        EXPECT_TRUE(space.is_over());
        EXPECT_TRUE(space.rewrites(space.original()).empty());
        EXPECT_FALSE(space.apply(space.original(), rewrites[0]));
      },
      options);
  EXPECT_EQ(outcome.stop, StopReason::max_states);
}

TEST_F(Strategies, OfTheCallerMayAskForWhatDoesNotExist) {
  rules = {{'a', 'b'}};
  prices['b'] = 1;
  const Outcome outcome = run_own(ir::Graph{{chain("ac", x)}}, [](SearchSpace& space) {
    EXPECT_TRUE(space.rewrites(SearchState{7}).empty());
    EXPECT_GT(space.time(SearchState{7}), space.time(space.original()));
    auto rewrite = space.rewrites(space.original()).at(0);
    EXPECT_FALSE(space.apply(SearchState{7}, rewrite));
    rewrite.number = 1;
    EXPECT_FALSE(space.apply(space.original(), rewrite));
    rewrite.number = 0;
    rewrite.operation = 1'000'000;
    EXPECT_FALSE(space.apply(space.original(), rewrite));
    rewrite = space.rewrites(space.original()).at(0);
    rewrite.rule = "b to a";
    EXPECT_FALSE(space.apply(space.original(), rewrite));
  });
  EXPECT_TRUE(outcome.steps.empty());
}

// A trace gives the same graph and the same steps, on random chains and rules, however the search found
// them.
TEST_F(Strategies, TracesGiveTheSameGraph) {
  std::mt19937 random(7);
  const std::string letters = "abcd";
  int rewritten = 0;
  for (int n = 0; n < 300; ++n) {
    rules.clear();
    for (int k = 0; k < 5; ++k) rules.emplace_back(letters[random() % 4], "abcd.2"[random() % 6]);
    for (const char letter : letters) prices[letter] = 50.0 + static_cast<double>(random() % 100);
    ir::ValueId sum = x;
    for (int k = 0; k < 3; ++k) {
      std::string text;
      for (std::size_t length = 1 + random() % 4; text.size() < length;) text += letters[random() % 4];
      sum = pair(chain(text, sum), chain(text.substr(1), x));
    }
    const ir::Graph graph{{sum}};
    Options options;
    options.max_states = 400;
    const Outcome found = run(graph, options);
    const std::vector<TracedRewrite> trace = trace_of(found);
    const Outcome replayed = replay(graph, trace);
    ASSERT_EQ(replayed.replayed, trace.size()) << n;
    EXPECT_EQ(replayed.best, found.best) << n;
    EXPECT_EQ(replayed.after, found.after) << n;
    EXPECT_EQ(trace_of(replayed), trace) << n;
    EXPECT_EQ(replayed.stop, StopReason::replayed);
    rewritten += trace.empty() ? 0 : 1;
  }
  EXPECT_GT(rewritten, 150);
}

TEST_F(Strategies, ATraceMayEndWithAMoreExpensiveGraph) {
  rules = {{'a', 'b'}, {'b', 'c'}};
  prices = {{'a', 100}, {'b', 10}, {'c', 50}};
  const ir::Graph graph{{chain("a", x)}};
  const auto find = [&](const std::string& rule) {
    std::vector<TracedRewrite> trace;
    run_own(graph, [&](SearchSpace& space) {
      SearchState at = space.original();
      for (const std::string& name : {std::string("a to b"), rule}) {
        const auto rewrites = space.rewrites(at);
        ASSERT_EQ(rewrites.size(), 1U);
        EXPECT_EQ(rewrites[0].rule, name);
        trace.push_back({name, rewrites[0].operation, 0});
        at = *space.apply(at, rewrites[0]);
      }
    });
    return trace;
  };
  const Outcome outcome = replay(graph, find("b to c"));
  EXPECT_EQ(outcome.after.count(), 50);
  EXPECT_EQ(outcome.replayed, 2U);
}

TEST_F(Strategies, ATraceEndsAtARewriteThatIsNotPossible) {
  rules = {{'a', 'b'}};
  prices['b'] = 1;
  const ir::Graph graph{{chain("ca", x)}};
  const std::vector<TracedRewrite> trace = trace_of(run(graph));
  ASSERT_EQ(trace.size(), 1U);
  for (const TracedRewrite& wrong : {TracedRewrite{"b to a", trace[0].operation, 0}, TracedRewrite{"a to b", trace[0].operation, 1},
                                     TracedRewrite{"a to b", trace[0].operation - 1, 0}, TracedRewrite{"a to b", 1'000'000, 0}}) {
    EXPECT_EQ(replay(graph, {wrong}).replayed, 0U);
    EXPECT_EQ(replay(graph, {trace[0], wrong}).replayed, 1U);
  }
}

// A strategy inside of xflow made of a function.
class Inner final : public InnerStrategy {
 public:
  explicit Inner(std::function<void(InnerSpace&)> body) : body_(std::move(body)) {}

 private:
  void search_inner(InnerSpace& space) override { body_(space); }

  std::function<void(InnerSpace&)> body_;
};

// The result is the graph that was chosen, although it costs more than the original; graphs on the way are
// seen.
TEST_F(Strategies, InsideOfXflowChooseAGraph) {
  rules = {{'a', 'b'}, {'b', 'c'}};
  prices = {{'a', 10}, {'b', 20}, {'c', 5}};
  const ir::Graph graph{{chain("a", x)}};
  Options cheapest;
  cheapest.alpha = 3;
  const Outcome best = run(graph, cheapest);
  ASSERT_EQ(best.steps.size(), 2U);
  Inner own([&](InnerSpace& space) {
    const std::vector<PossibleRewrite> first = space.rewrites(space.original());
    ASSERT_EQ(first.size(), 1U);
    const auto state = space.apply(space.original(), first[0]);
    ASSERT_TRUE(state);
    const auto reached = space.reached(*state);
    ASSERT_TRUE(reached);
    EXPECT_EQ(reached->graph, ir::Graph{{chain("b", x)}});
    // The rewrites of another search lead to its graph.
    const auto followed = space.reached(space.follow(trace_of(best)));
    ASSERT_TRUE(followed);
    EXPECT_EQ(followed->graph, best.best);
    EXPECT_FALSE(space.reached(SearchState{99}));
    space.choose(*state);
  });
  Options options;
  options.own_strategy = &own;
  const Outcome chosen = run(graph, options);
  EXPECT_EQ(chosen.best, ir::Graph{{chain("b", x)}});
  EXPECT_EQ(chosen.steps.size(), 1U);
  EXPECT_GT(chosen.after, chosen.before);
}

}  // namespace
}  // namespace xflow::search
