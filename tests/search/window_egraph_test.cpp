// E-graphs of windows: what they hold, and the choice of the cheapest graph in them.
#include "src/search/window_egraph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <random>

#include "src/search/egraph_choice.h"
#include "tests/search/toy.h"

namespace xflow::search {
namespace {

class WindowEGraphTest : public Toy {
 protected:
  // The e-graph of all operations of a graph.
  bool saturate(const ir::Graph& graph, const WindowEGraph::Limits& limits = {}) {
    work = std::make_unique<ir::WorkGraph>(arena, graph);
    Window window = work->order();
    std::erase_if(window, [&](ir::NodeId id) { return work->arena().node(id).kind != ir::NodeKind::operation; });
    egraph = std::make_unique<WindowEGraph>(*work, window);
    return egraph->saturate(*this, admissible, limits, [] { return false; });
  }
  double price_of(ir::NodeId id) const {
    const auto price = prices.find(static_cast<char>(egraph->arena().node(id).op));
    return price == prices.end() ? 0 : price->second;
  }
  EGraphChoice choice() const {
    return {*egraph, [this](ir::NodeId id) { return price_of(id); }};
  }
  double sum_of(const EGraphChoice& choice, const Chosen& chosen) const {
    double sum = 0;
    for (const ir::NodeId id : choice.operations(chosen)) sum += price_of(id);
    return sum;
  }
  // The least sum of all choices without cycles, by trying all; infinite if there is none.
  double least_of_all() const;

  Workspace::Admissible admissible;
  std::unique_ptr<ir::WorkGraph> work;
  std::unique_ptr<WindowEGraph> egraph;
};

double WindowEGraphTest::least_of_all() const {
  std::map<ir::ValueId, ir::ValueId> chosen;
  double best = std::numeric_limits<double>::infinity();
  std::function<bool(ir::ValueId, ir::ValueId)> reaches = [&](ir::ValueId from, ir::ValueId to) {
    if (from == to) return true;
    const auto at = chosen.find(from);
    if (at == chosen.end()) return false;
    return std::ranges::any_of(egraph->arena().node(at->second).operands,
                               [&](ir::ValueId v) { return reaches(egraph->representative(v), to); });
  };
  std::function<void()> branch = [&] {
    // The first class that is needed and has no operation.
    std::set<ir::ValueId> seen;
    std::vector<ir::ValueId> left;
    for (const auto& [outside, value] : egraph->outputs()) left.push_back(egraph->representative(value));
    std::optional<ir::ValueId> open;
    std::set<ir::NodeId> runs;
    while (!left.empty() && !open) {
      const ir::ValueId value = left.back();
      left.pop_back();
      if (egraph->is_free(value) || !seen.insert(value).second) continue;
      const auto at = chosen.find(value);
      if (at == chosen.end()) {
        open = value;
      } else {
        runs.insert(at->second.node);
        for (const ir::ValueId v : egraph->arena().node(at->second).operands) left.push_back(egraph->representative(v));
      }
    }
    if (!open) {
      double sum = 0;
      for (const ir::NodeId id : runs) sum += price_of(id);
      best = std::min(best, sum);
      return;
    }
    const auto members = egraph->members(*open);
    for (const ir::ValueId member : std::vector<ir::ValueId>(members.begin(), members.end())) {
      const auto& operands = egraph->arena().node(member).operands;
      if (std::ranges::any_of(operands, [&](ir::ValueId v) { return reaches(egraph->representative(v), *open); })) continue;
      chosen[*open] = member;
      branch();
      chosen.erase(*open);
    }
  };
  branch();
  return best;
}

TEST_F(WindowEGraphTest, HoldsIndependentRewritesSideBySide) {
  rules = {{'a', 'b'}, {'b', 'c'}, {'c', 'd'}};
  EXPECT_TRUE(saturate(ir::Graph{{chain(std::string(50, 'a'), x)}}));
  EXPECT_EQ(egraph->operations(), 200U);  // of 4^50 graphs
  prices = {{'a', 3}, {'b', 9}, {'c', 9}, {'d', 1}};
  bool whole = false;
  const EGraphChoice choices = choice();
  const auto found = choices.cheapest(1, 1'000, whole);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(whole);
  EXPECT_EQ(sum_of(choices, found[0]), 50);
}

TEST_F(WindowEGraphTest, HoldsGraphsWithoutEnd) {
  rules = {{'a', '2'}, {'b', '.'}};
  EXPECT_TRUE(saturate(ir::Graph{{chain("ab", x)}}));
  // a(x) = a(a(x)) = b(a(x)): one operation each, which read their own class or x.
  EXPECT_EQ(egraph->operations(), 3U);
  const ir::ValueId result = egraph->representative(egraph->outputs().at(0).second);
  EXPECT_EQ(egraph->members(result).size(), 3U);
  const EGraphChoice choices = choice();
  bool whole = false;
  const auto found = choices.cheapest(10, 1'000, whole);
  ASSERT_EQ(found.size(), 1U);  // the others would read themselves
  EXPECT_EQ(sum_of(choices, found[0]), 100);
}

TEST_F(WindowEGraphTest, KnowsThatFunctionsOfEqualValuesAreEqual) {
  rules = {{'b', 'c'}};
  EXPECT_TRUE(saturate(ir::Graph{{chain("bdd", x), chain("cdd", x)}}));
  const auto& outputs = egraph->outputs();
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(egraph->representative(outputs[0].second), egraph->representative(outputs[1].second));
  EXPECT_EQ(egraph->operations(), 4U);  // b, c, d, d
}

TEST_F(WindowEGraphTest, EndsAtItsLimits) {
  rules = {{'a', 'b'}, {'b', 'c'}, {'c', 'd'}};
  const ir::Graph graph{{chain(std::string(50, 'a'), x)}};
  EXPECT_FALSE(saturate(graph, {.operations = 100, .rewrites = 30'000}));
  EXPECT_LE(egraph->operations(), 102U);
  EXPECT_FALSE(saturate(graph, {.operations = 1'500, .rewrites = 10}));
  EXPECT_LE(egraph->operations(), 50U + 11U);
}

TEST_F(WindowEGraphTest, LeavesOutWhatIsNotAdmissible) {
  rules = {{'a', 'b'}, {'a', 'c'}};
  admissible = [](const ir::Arena& in, ir::NodeId id) { return in.node(id).op != static_cast<ir::OperatorId>('b'); };
  EXPECT_TRUE(saturate(ir::Graph{{chain("a", x)}}));
  EXPECT_EQ(egraph->operations(), 2U);
}

TEST_F(WindowEGraphTest, FindsOperationsOfAnotherGraph) {
  rules = {{'a', 'b'}, {'b', 'c'}};
  saturate(ir::Graph{{chain("add", x)}});
  // The same graph after "a to b" on the way.
  const ir::NodeId first = work->order().at(1);
  const auto mark = work->mark();
  const ir::ValueId b = apply_toy(work->arena(), 'b', work->arena().node(first).operands[0]);
  ASSERT_TRUE(work->replace(std::vector<ir::Replacement>{{{first, 0}, b}}, mark));
  ir::ValueMap known;
  std::vector<ir::NodeId> found;
  for (const ir::NodeId id : work->order()) {
    if (work->arena().node(id).kind != ir::NodeKind::operation) continue;
    const auto here = egraph->find(*work, id, known);
    ASSERT_TRUE(here);
    found.push_back(*here);
    EXPECT_EQ(egraph->arena().node(*here).op, work->arena().node(id).op);
  }
  EXPECT_EQ(found.size(), 3U);
  // What rewrites made b: the one that was applied.
  const auto reasons = egraph->reasons(found, false);
  ASSERT_EQ(reasons.size(), 1U);
  EXPECT_EQ(egraph->applied(reasons[0]).rule, "a to b");
  // Another operation is not in it.
  const ir::ValueId other = apply_toy(work->arena(), 'e', b);
  EXPECT_FALSE(egraph->find(*work, other.node, known));
}

TEST_F(WindowEGraphTest, RandomChoicesAreTheCheapestOfAll) {
  std::mt19937 random(1);
  const auto at_most = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most + 1)); };
  std::size_t several = 0;
  for (int round = 0; round < 1'500; ++round) {
    rules.clear();
    for (int k = at_most(5); k >= 0; --k) {
      const char from = static_cast<char>('a' + at_most(5));
      const char to = at_most(5) == 0 ? '.' : at_most(9) == 0 ? '2' : static_cast<char>('a' + at_most(5));
      rules.emplace_back(from, to);
    }
    prices.clear();
    for (char c = 'a'; c <= 'f'; ++c) prices[c] = at_most(6);
    prices['+'] = at_most(3);
    std::vector<ir::ValueId> values = {x};
    const int size = 2 + at_most(5);
    while (static_cast<int>(values.size()) <= size) {
      const ir::ValueId operand = values[static_cast<std::size_t>(at_most(static_cast<int>(values.size()) - 1))];
      values.push_back(at_most(3) == 0 ? pair(operand, values.back()) : apply(static_cast<char>('a' + at_most(5)), operand));
    }
    const ir::Graph graph{{values.back(), values[values.size() / 2]}};
    ASSERT_TRUE(saturate(graph));
    const EGraphChoice choices = choice();
    bool whole = false;
    const auto found = choices.cheapest(3, 1'000'000, whole);
    ASSERT_TRUE(whole);
    const double least = least_of_all();
    ASSERT_EQ(found.empty(), least == std::numeric_limits<double>::infinity());
    if (found.empty()) continue;
    EXPECT_EQ(sum_of(choices, found[0]), least) << "round " << round;
    for (std::size_t k = 1; k < found.size(); ++k) EXPECT_LE(sum_of(choices, found[k - 1]), sum_of(choices, found[k]));
    several += found.size() > 1 ? 1 : 0;
  }
  EXPECT_GT(several, 500U);
}

}  // namespace
}  // namespace xflow::search
