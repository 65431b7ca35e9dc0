// Searches with several threads: their results are those of one thread.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "tests/search/toy.h"

namespace xflow::search {
namespace {

class SearchThreads : public Toy {
 protected:
  // Tools of a thread. `living` counts the rewriters that were made and not destroyed.
  std::function<ThreadTools()> tools() {
    return [this] {
      auto counted = std::shared_ptr<int>(new int(0), [this](const int* number) {
        delete number;
        --living;
      });
      ++living;
      return ThreadTools{
          std::make_unique<ToyRewriter>(rules),
          [this, counted](const ir::WorkGraph& graph) { return std::make_unique<ToyCost>(graph, prices, impossible); },
      };
    };
  }
  Options options(std::uint64_t states, std::uint64_t bound_states, std::size_t threads) {
    Options options;
    options.max_states = states;
    options.bound_states = bound_states;
    options.threads = threads;
    options.thread_tools = tools();
    options.finalists = 3;
    return options;
  }
  // Rules, prices and a graph of `operations` operations, most of which have one reader.
  ir::Graph random_problem(std::mt19937& random, int operations) {
    const auto below = [&](std::size_t n) { return random() % n; };
    rules.clear();
    for (std::size_t count = 2 + below(4); count > 0; --count) {
      const auto from = static_cast<char>('a' + below(5));
      const char to = below(6) == 0 ? '.' : below(8) == 0 ? '2' : static_cast<char>('a' + below(5));
      if (to != from) rules.emplace_back(from, to);
    }
    for (const char letter : {'a', 'b', 'c', 'd', 'e', '+'}) prices[letter] = static_cast<double>(1 + below(100));
    std::vector<ir::ValueId> values = {x};
    for (int k = 0; k < operations; ++k) {
      const std::size_t back = std::min<std::size_t>(values.size(), 3);
      const ir::ValueId near = values[values.size() - 1 - below(back)];
      values.push_back(below(4) == 0 ? pair(near, values.back()) : apply(static_cast<char>('a' + below(5)), values.back()));
    }
    return ir::Graph{{values.back()}};
  }

  std::atomic<int> living = 0;
};

auto fields_of(const Step& step) { return std::tuple(step.rule, step.replaced, step.originals, step.gain.count(), step.root, step.match); }

void expect_equal(const std::vector<Step>& a, const std::vector<Step>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t k = 0; k < a.size(); ++k) EXPECT_EQ(fields_of(a[k]), fields_of(b[k]));
}

// All fields but the times of the search itself.
void expect_equal(const Outcome& a, const Outcome& b) {
  EXPECT_EQ(a.best, b.best);
  EXPECT_EQ(a.correspondence, b.correspondence);
  EXPECT_EQ(a.before, b.before);
  EXPECT_EQ(a.after, b.after);
  expect_equal(a.steps, b.steps);
  EXPECT_EQ(std::tuple(a.constant_bytes_before, a.constant_bytes_after), std::tuple(b.constant_bytes_before, b.constant_bytes_after));
  ASSERT_EQ(a.others.size(), b.others.size());
  for (std::size_t k = 0; k < a.others.size(); ++k) {
    EXPECT_EQ(a.others[k].graph, b.others[k].graph);
    EXPECT_EQ(a.others[k].correspondence, b.others[k].correspondence);
    EXPECT_EQ(a.others[k].after, b.others[k].after);
    EXPECT_EQ(a.others[k].constant_bytes, b.others[k].constant_bytes);
    expect_equal(a.others[k].steps, b.others[k].steps);
  }
  ASSERT_EQ(a.rules.size(), b.rules.size());
  for (const auto& [rule, count] : a.rules) {
    ASSERT_TRUE(b.rules.contains(rule)) << rule;
    const RuleCount& other = b.rules.at(rule);
    EXPECT_EQ(std::tuple(count.matched, count.improved, count.applied), std::tuple(other.matched, other.improved, other.applied)) << rule;
  }
  EXPECT_EQ(std::tuple(a.states, a.expanded, a.looks, a.best_states, a.stop),
            std::tuple(b.states, b.expanded, b.looks, b.best_states, b.stop));
  ASSERT_EQ(a.bound.has_value(), b.bound.has_value());
  if (!a.bound) return;
  const auto fields = [](const LowerBound& bound) {
    return std::tuple(bound.time, bound.parts, bound.open_parts, bound.open_time, bound.states);
  };
  EXPECT_EQ(fields(*a.bound), fields(*b.bound));
}

TEST_F(SearchThreads, GiveTheResultOfOneThreadWithEveryBudget) {
  std::mt19937 random(1);
  int open = 0;
  int whole = 0;
  std::set<std::uint64_t> used;
  for (int k = 0; k < 8; ++k) {
    const ir::Graph graph = random_problem(random, 20 + static_cast<int>(random() % 40));
    for (const std::uint64_t bound_states : {1, 20, 150, 301, 1'000, 3'000}) {
      SCOPED_TRACE(testing::Message() << "graph " << k << ", " << bound_states << " graphs for the bound");
      const Outcome one = run(graph, options(200, bound_states, 1));
      ASSERT_TRUE(one.bound);
      used.insert(one.bound->states);
      (one.bound->open_parts > 0 ? open : whole) += 1;
      for (const std::size_t threads : {2, 4}) {
        expect_equal(one, run(graph, options(200, bound_states, threads)));
        if (HasFailure()) return;
      }
      // Nor does it matter whether the search visits the parts with its own tools.
      Options own = options(200, bound_states, 4);
      own.thread_tools = nullptr;
      expect_equal(one, run(graph, own));
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(open, 10);
  EXPECT_GT(whole, 5);
  EXPECT_GT(used.size(), 15U);
  EXPECT_EQ(living, 0);
}

TEST_F(SearchThreads, WithoutToolsOfTheirOwnUseThoseOfTheSearchInTheCallingThread) {
  rules = {{'a', 'b'}, {'b', 'c'}, {'c', 'd'}};
  std::set<std::thread::id> callers;
  class Watched final : public Rewriter {
   public:
    Watched(Rewriter& of, std::set<std::thread::id>& callers) : of_(of), callers_(callers) {}
    void rewrites(ir::WorkGraph& graph, ir::NodeId root, std::vector<ir::NodeId>& reads,
                  const std::function<void(Rewrite)>& found) override {
      callers_.insert(std::this_thread::get_id());
      of_.rewrites(graph, root, reads, found);
    }

   private:
    Rewriter& of_;
    std::set<std::thread::id>& callers_;
  };
  const ir::Graph graph{{chain("abacabadabacabaeabacabadabacaba", x)}};
  for (const bool has_tools : {false, true}) {
    Options several = options(100, 10'000, 4);
    if (!has_tools) several.thread_tools = nullptr;
    ToyRewriter of(rules);
    Watched rewriter(of, callers);
    const Outcome outcome = run(graph, rewriter, several);
    ASSERT_TRUE(outcome.bound);
    EXPECT_EQ(callers, std::set{std::this_thread::get_id()});
  }
}

TEST_F(SearchThreads, EndWhenTheRunEnds) {
  rules = {{'a', '2'}, {'b', '2'}, {'a', 'b'}, {'b', 'a'}, {'c', '2'}};
  std::string text;
  for (int k = 0; k < 100; ++k) text += static_cast<char>('a' + (k * k + k / 7) % 5);
  const ir::Graph graph{{chain(text, x)}};
  for (const std::uint64_t calls : {1, 300, 5'000}) {
    Options ended = options(10, 1'000'000'000, 4);
    std::uint64_t asked = 0;
    std::set<std::thread::id> callers;
    ended.stop = [&]() -> std::optional<StopReason> {
      callers.insert(std::this_thread::get_id());
      return ++asked > calls ? std::optional(StopReason::cancelled) : std::nullopt;
    };
    const Outcome outcome = run(graph, ended);
    EXPECT_EQ(outcome.stop, StopReason::cancelled);
    EXPECT_EQ(living, 0);
    EXPECT_EQ(callers, std::set{std::this_thread::get_id()});
  }
}

}  // namespace
}  // namespace xflow::search
