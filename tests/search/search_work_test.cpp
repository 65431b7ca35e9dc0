// How much the descents of a search look at in a long chain.
#include <gtest/gtest.h>

#include "src/cost/incremental_cost.h"
#include "src/search/search.h"

namespace xflow::search {
namespace {

constexpr ir::OperatorId kExpensive{1};
constexpr ir::OperatorId kCheap{2};
constexpr double kExpensivePrice = 100;
constexpr double kCheapPrice = 60;

// The sum of the prices of operations, kept up to date by what changes.
class ChainCost final : public cost::IncrementalCost {
 public:
  explicit ChainCost(const ir::WorkGraph& graph) : graph_(graph) {
    for (const ir::NodeId id : graph.order()) set(id);
  }
  void update(std::span<const ir::WorkGraph::Change> changes) override {
    for (const auto& [id, operands] : changes) set(id);
  }
  cost::Ticks time() const override { return sum_; }
  bool comparable() const override { return true; }
  cost::Ticks time_of(std::span<const ir::NodeId>) const override { return {}; }
  std::size_t mark() override {
    marks_.push_back({undo_.size(), sum_});
    return marks_.size() - 1;
  }
  void undo(std::size_t mark) override {
    for (; undo_.size() > marks_[mark].first; undo_.pop_back()) prices_[undo_.back().first] = undo_.back().second;
    sum_ = marks_[mark].second;
    marks_.resize(mark);
  }
  std::span<const ir::NodeId> footprint() const override { return {}; }
  std::vector<ir::NodeId> changed(std::size_t) const override { return {}; }

 private:
  void set(ir::NodeId id) {
    cost::Ticks price{};
    if (graph_.contains(id) && graph_.arena().node(id).kind == ir::NodeKind::operation)
      price = cost::ticks_of(Nanoseconds(graph_.arena().node(id).op == kExpensive ? kExpensivePrice : kCheapPrice));
    cost::Ticks& now = prices_[id];
    undo_.emplace_back(id, now);
    sum_ = sum_ + price - now;
    now = price;
  }

  const ir::WorkGraph& graph_;
  std::map<ir::NodeId, cost::Ticks> prices_;
  std::vector<std::pair<ir::NodeId, cost::Ticks>> undo_;
  std::vector<std::pair<std::size_t, cost::Ticks>> marks_;
  cost::Ticks sum_{};
};

// Replaces any operation of a chain by a cheaper one.
class Cheaper final : public Rewriter {
 public:
  void rewrites(ir::WorkGraph& graph, ir::NodeId root, std::vector<ir::NodeId>&, const std::function<void(Rewrite)>& found) override {
    const ir::Node& node = graph.arena().node(root);
    if (node.op != kExpensive) return;
    const ir::ValueId operand = node.operands[0];
    found(Rewrite{"cheaper", [=](ir::Arena& in) {
                    const ir::ValueId made{in.operation(kCheap, {}, {operand}, {in.type(operand)}), 0};
                    return std::vector<ir::Replacement>{{{root, 0}, made}};
                  }});
  }
};

// By the two descents: no other graph is within alpha of the one that they find.
Outcome search_chain(std::size_t length) {
  ir::Arena arena;
  ir::ValueId value = arena.input({ir::DataType::float32, true, {ir::Poly(4)}}, 0);
  for (std::size_t k = 0; k < length; ++k) value = {arena.operation(kExpensive, {}, {value}, {arena.type(value)}), 0};
  const ir::Graph graph{{value}};
  Cheaper rewriter;
  Options options;
  options.alpha = 1;
  const Outcome outcome = search(
      arena, graph, rewriter, [](const ir::WorkGraph& work) { return std::make_unique<ChainCost>(work); }, options);
  EXPECT_EQ(outcome.stop, StopReason::exhausted);
  EXPECT_EQ(outcome.steps.size(), length);
  EXPECT_EQ(outcome.after.count(), kCheapPrice * static_cast<double>(length));
  return outcome;
}

TEST(Descents, LookAtEachOperationOfAChainAFewTimes) {
  for (const std::size_t length : {100, 1600}) {
    const Outcome outcome = search_chain(length);
    EXPECT_LE(outcome.states, 12 * length + 500) << "windows cost rewrites at their borders twice";
    EXPECT_LE(outcome.looks, 30 * length + 1800) << "windows look at each operation twice";
  }
}

}  // namespace
}  // namespace xflow::search
