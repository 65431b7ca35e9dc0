// The search in e-graphs of windows (see window_egraph.h). An e-graph names a goal, a graph that is cheaper.
// The states of the search lead to it: by rewrites that made what it consists of, so that nothing is taken
// from an e-graph on trust.
#include <algorithm>
#include <array>
#include <functional>
#include <queue>
#include <set>
#include <tuple>

#include "src/search/search_run.h"

namespace xflow::search {

using ir::NodeId;
using ir::ValueId;

namespace {

constexpr std::array<std::size_t, 2> kSizes = {24, 48};
constexpr std::size_t kChoices = 3;             // of each kind of prices
constexpr std::size_t kStepsOfChoice = 4'000;   // partial choices
constexpr std::uint64_t kStatesToGoal = 1'500;  // on the way to one goal

}  // namespace

void Search::search_egraphs() {
  std::vector<StateId> from = bases();
  for (const std::size_t size : kSizes)
    if (!search_egraphs(size, {}, from)) return;
}

bool Search::search_egraphs(std::size_t size, const WindowEGraph::Limits& limits, std::vector<StateId>& from) {
  return std::ranges::all_of(from, [&](StateId& base) {
    return search_each_window(base, size, [&](const Window& window) { return search_egraph(base, window, limits); });
  });
}

bool Search::search_egraph(StateId& base, const Window& planned, const WindowEGraph::Limits& limits) {
  const StateId before = base;
  const auto window = open_window(base, planned);
  if (!window) return base != before;
  WindowEGraph egraph(work_.graph(), window->operations);
  egraph.saturate(rewriter_, options_.admissible, limits, [this] { return stopped(); });
  if (const auto goal = choose(egraph)) {
    for (const bool all : {false, true}) {
      if (!step_to(before)) break;
      const StateId reached = reach(*window, egraph, *goal, all);
      if (states_[index_of(reached)].time < states_[index_of(base)].time) base = reached;
      if (stopped() || states_[index_of(base)].time <= goal->time) break;
    }
  }
  close_window(*window, before, base);
  return base != before;
}

std::optional<Ticks> Search::time_with(const WindowEGraph& egraph, const Chosen& chosen) {
  Candidate candidate;
  candidate.root = egraph.outputs()[0].first.node;
  candidate.rewrite.rule = "e-graph";
  candidate.rewrite.build = [&](ir::Arena& in) {
    std::vector<ir::Replacement> replacements;
    ir::ValueMap made;
    for (const auto& [outside, value] : egraph.outputs()) {
      const ValueId to = egraph.make(
          in, value, [&](ValueId representative) { return chosen.at(representative); }, made);
      if (to != outside) replacements.emplace_back(outside, to);
    }
    return replacements;
  };
  work_.find_out(candidate);
  count_state();
  if (!candidate.possible || candidate.bytes > room_after(path_.back())) return std::nullopt;
  return states_[index_of(path_.back())].time + candidate.change;
}

std::optional<Search::EGraphGoal> Search::choose(const WindowEGraph& egraph) {
  if (egraph.outputs().empty()) return std::nullopt;
  EGraphPrices prices(egraph, follow_, options_.per_operation, known_prices_, [this] { count_state(); });
  std::optional<EGraphGoal> best;
  const auto consider = [&](const Chosen& chosen) {
    if (stopped()) return false;
    const auto time = time_with(egraph, chosen);
    if (!time || (best && *time >= best->time)) return false;
    best = EGraphGoal{chosen, {}, *time};
    return true;
  };
  const EGraphChoice separate(egraph, [&](NodeId id) { return stopped() ? 0 : prices.alone(id); });
  const EGraphChoice together(egraph, [&](NodeId id) { return stopped() ? 0 : prices.beside(id); });
  for (const EGraphChoice* choice : {&separate, &together}) {
    bool whole = false;
    for (const Chosen& chosen : choice->cheapest(kChoices, kStepsOfChoice, whole)) consider(chosen);
  }
  // Single changes, priced as a whole: kernels of several operations are no sum.
  for (bool improved = best.has_value(); improved && !stopped();) {
    improved = false;
    std::vector<ValueId> classes;
    for (const auto& [representative, value] : best->chosen) classes.push_back(representative);
    std::ranges::sort(classes);
    for (const ValueId representative : classes) {
      const auto members = egraph.members(representative);
      for (const ValueId member : members) {
        const auto now = best->chosen.find(representative);
        if (now == best->chosen.end() || now->second.node == member.node) continue;
        const auto changed = separate.with(best->chosen, member);
        improved = (changed && consider(*changed)) || improved;
      }
    }
  }
  if (!best || best->time >= states_[index_of(path_.back())].time) return std::nullopt;
  best->operations = separate.operations(best->chosen);
  return best;
}

// What the workspace's graph has of the operations of a goal.
class Search::Progression {
 public:
  Progression(const Search& search, const OpenWindow& window, WindowEGraph& egraph, const EGraphGoal& goal)
      : search_(search), window_(window), egraph_(egraph), goal_(goal.operations.begin(), goal.operations.end()) {}

  // Finds the operations of the graph, and returns how many it still has to make or to lose.
  std::size_t update() {
    const ir::WorkGraph& graph = search_.work_.graph();
    operations_ = window_.operations;
    for (std::size_t k = window_.first_new; k < graph.arena().size(); ++k) operations_.push_back(static_cast<NodeId>(k));
    std::erase_if(operations_, [&](NodeId id) { return !search_.is_root(id); });
    std::ranges::sort(operations_, {}, [&](NodeId id) { return graph.position(id); });
    known_.clear();
    std::set<NodeId> made;
    std::size_t others = 0;
    for (const NodeId id : operations_) {
      const auto found = egraph_.find(graph, id, known_);
      if (found && goal_.contains(*found)) {
        made.insert(*found);
      } else {
        ++others;
      }
    }
    return goal_.size() - made.size() + others;
  }
  // Operands before users.
  const Window& operations() const { return operations_; }
  // The class of the first output of an operation; nothing if it is not in the e-graph.
  std::optional<ValueId> class_of(NodeId operation) const {
    const auto value = known_.find({operation, 0});
    return value == known_.end() ? std::nullopt : std::optional(egraph_.representative(value->second));
  }

 private:
  const Search& search_;
  const OpenWindow& window_;
  WindowEGraph& egraph_;
  std::set<NodeId> goal_;
  Window operations_;
  ir::ValueMap known_;
};

StateId Search::reach(const OpenWindow& window, WindowEGraph& egraph, const EGraphGoal& goal, bool all) {
  std::set<std::pair<std::string_view, ValueId>> wanted;  // rules, and classes of the operations that they match
  for (const std::size_t number : egraph.reasons(goal.operations, all)) {
    const WindowEGraph::Applied& applied = egraph.applied(number);
    for (const NodeId id : applied.matched) wanted.emplace(applied.rule, egraph.representative({id, 0}));
  }
  Progression progression(*this, window, egraph, goal);
  using Ahead = std::tuple<std::size_t, Ticks, StateId>;
  std::priority_queue<Ahead, std::vector<Ahead>, std::greater<>> queue;
  const StateId base = path_.back();
  Visited visited{{states_[index_of(base)].hash, base}};
  queue.emplace(progression.update(), states_[index_of(base)].time, base);
  StateId best = base;
  const std::uint64_t end = outcome_.states + kStatesToGoal;
  while (!queue.empty() && outcome_.states < end && !stopped()) {
    const StateId at = std::get<StateId>(queue.top());
    queue.pop();
    if (!step_to(at)) continue;
    progression.update();
    std::vector<StateId> made;
    for (const NodeId root : progression.operations()) {
      const auto value = progression.class_of(root);
      if (!value) continue;
      const Candidates list = candidates(root);
      for (std::uint32_t k = 0; k < list.size() && !stopped(); ++k) {
        if (!wanted.contains({list[k]->rewrite.rule, *value}) || !know(*list[k])) continue;
        bool is_new = false;
        const auto next = add(at, k, *list[k], visited, is_new);
        if (next && is_new) made.push_back(*next);
      }
    }
    for (const StateId id : made) {
      if (!step_to(id)) continue;
      const std::size_t left = progression.update();
      if (states_[index_of(id)].time < states_[index_of(best)].time) best = id;
      if (left == 0 || states_[index_of(id)].time <= goal.time) return id;
      queue.emplace(left, states_[index_of(id)].time, id);
    }
  }
  return best;
}

}  // namespace xflow::search
