// A toy language for tests of the search: operators with a price each, and rules that replace one by another.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/cost/incremental_cost.h"
#include "src/search/search.h"

namespace xflow::search {

// The sum of the prices of operations by their letters.
class ToyCost final : public cost::IncrementalCost {
 public:
  ToyCost(const ir::WorkGraph& graph, const std::map<char, double>& prices, char impossible)
      : graph_(graph), prices_(prices), impossible_(impossible) {
    update({});
  }
  void update(std::span<const ir::WorkGraph::Change>) override {
    now_ = {};
    for (const ir::NodeId id : graph_.order()) {
      const auto letter = static_cast<char>(graph_.arena().node(id).op);
      const auto price = prices_.find(letter);
      if (price != prices_.end()) now_.sum += price->second;
      now_.comparable = now_.comparable && letter != impossible_;
    }
  }
  cost::Ticks time() const override { return cost::ticks_of(Nanoseconds{now_.sum}); }
  bool comparable() const override { return now_.comparable; }
  bool complete() const override { return now_.comparable; }
  cost::Ticks time_of(std::span<const ir::NodeId> nodes) const override {
    double sum = 0;
    for (const ir::NodeId id : nodes) {
      const auto price = prices_.find(static_cast<char>(graph_.arena().node(id).op));
      if (price != prices_.end()) sum += price->second;
    }
    return cost::ticks_of(Nanoseconds{sum});
  }
  std::size_t mark() override {
    marks_.push_back(now_);
    return marks_.size() - 1;
  }
  void undo(std::size_t mark) override {
    now_ = marks_[mark];
    marks_.resize(mark);
  }
  std::span<const ir::NodeId> footprint() const override { return {}; }
  std::vector<ir::NodeId> changed(std::size_t) const override { return {}; }

 private:
  struct Sum {
    double sum = 0;
    bool comparable = true;
  };
  const ir::WorkGraph& graph_;
  const std::map<char, double>& prices_;
  char impossible_;
  Sum now_;
  std::vector<Sum> marks_;
};

// The operator of a letter, applied to a value.
inline ir::ValueId apply_toy(ir::Arena& in, char c, ir::ValueId x) {
  return {in.operation(static_cast<ir::OperatorId>(c), {}, {x}, {in.type(x)}), 0};
}

// Rules that replace one operator by another, by its operand ('.') or by two of it ('2').
class ToyRewriter final : public Rewriter {
 public:
  using Rules = std::vector<std::pair<char, char>>;

  // `rules` must outlive the object.
  explicit ToyRewriter(const Rules& rules) : rules_(rules) {}
  void rewrites(ir::WorkGraph& graph, ir::NodeId root, std::vector<ir::NodeId>&, const std::function<void(Rewrite)>& found) override {
    std::uint64_t steps = 1;
    equal_rewrites(graph.arena(), graph, root, steps, found);
  }
  bool equal_rewrites(ir::Arena& arena, const ir::GraphView&, ir::NodeId root, std::uint64_t&,
                      const std::function<void(Rewrite)>& found) override {
    const ir::Node& node = arena.node(root);
    if (node.operands.size() != 1) return true;
    for (const auto& [from, to] : rules_) {
      if (node.op != static_cast<ir::OperatorId>(from)) continue;
      const std::string& rule = *names_.insert(std::string(1, from) + " to " + to).first;
      const ir::ValueId operand = node.operands[0];
      const char letter = to == '2' ? from : to;
      const bool twice = to == '2';
      found(Rewrite{rule, [=](ir::Arena& in) {
                      return std::vector<ir::Replacement>{
                          {{root, 0}, letter == '.' ? operand : apply_toy(in, letter, twice ? apply_toy(in, letter, operand) : operand)}};
                    }});
    }
    return true;
  }

 private:
  const Rules& rules_;
  std::set<std::string> names_;
};

// Unary operators a, b, c, d, ... with a price each, and rules that replace one operator by another, by its operand
// ('.') or by two of it ('2').
class Toy : public ::testing::Test, public Rewriter {
 protected:
  static constexpr ir::OperatorId op(char c) { return static_cast<ir::OperatorId>(c); }
  ir::ValueId apply(char c, ir::ValueId x) { return apply_toy(arena, c, x); }
  ir::ValueId pair(ir::ValueId x, ir::ValueId y) { return {arena.operation(op('+'), {}, {x, y}, {arena.type(x)}), 0}; }
  // "abc" is c(b(a(x))).
  ir::ValueId chain(const std::string& text, ir::ValueId v) {
    for (const char c : text) v = apply(c, v);
    return v;
  }

  void rewrites(ir::WorkGraph& graph, ir::NodeId root, std::vector<ir::NodeId>& reads, const std::function<void(Rewrite)>& found) override {
    rewriter_.rewrites(graph, root, reads, found);
  }
  bool equal_rewrites(ir::Arena& in, const ir::GraphView& graph, ir::NodeId root, std::uint64_t& steps,
                      const std::function<void(Rewrite)>& found) override {
    return rewriter_.equal_rewrites(in, graph, root, steps, found);
  }

  // Rules between the letters a to d, at most `most`, and prices of them, at random.
  void make_random_rules(std::mt19937& random, int most, int highest_price) {
    rules.clear();
    for (int r = 1 + below(random, most); r > 0; --r) {
      const char from = static_cast<char>('a' + below(random, 4));
      const char to = below(random, 6) == 0 ? '.' : static_cast<char>('a' + below(random, 4));
      if (to != from) rules.emplace_back(from, to);
    }
    for (auto& [letter, price] : prices) price = 1 + below(random, highest_price);
  }
  // The result of at most `most` operations at random.
  ir::ValueId random_value(std::mt19937& random, int most) {
    std::vector<ir::ValueId> values = {x};
    for (int operations = 1 + below(random, most); operations > 0; --operations) {
      const auto any = [&] { return values[static_cast<std::size_t>(below(random, static_cast<int>(values.size())))]; };
      values.push_back(below(random, 3) == 0 ? pair(any(), values.back())
                                             : apply(static_cast<char>('a' + below(random, 4)), values.back()));
    }
    return values.back();
  }
  static int below(std::mt19937& random, int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }

  Outcome run(const ir::Graph& graph, const Options& options = {}) { return run(graph, *this, options); }
  Outcome run(const ir::Graph& graph, Rewriter& rewriter, const Options& options) {
    return search(
        arena, graph, rewriter, [this](const ir::WorkGraph& work) { return std::make_unique<ToyCost>(work, prices, impossible); }, options);
  }

  ir::Arena arena;
  ir::ValueId x = arena.input({ir::DataType::float32, true, {ir::Poly(4)}}, 0);
  std::vector<std::pair<char, char>> rules;
  std::map<char, double> prices{{'a', 100}, {'b', 100}, {'c', 100}, {'d', 100}};
  char impossible = '?';

 private:
  ToyRewriter rewriter_{rules};
};

}  // namespace xflow::search
