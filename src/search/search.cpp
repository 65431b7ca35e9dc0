#include "src/search/search.h"

#include <algorithm>
#include <chrono>
#include <queue>
#include <unordered_set>

namespace xflow::search {
namespace {

using cost::Nanoseconds;
using Clock = std::chrono::steady_clock;
using StateId = std::size_t;

// A saving below this part of the whole is rounding of sums, not a gain.
constexpr double kLeastGain = 1e-12;

struct State {
  ir::Graph graph;
  Nanoseconds cost;
  StateId parent = 0;
  std::string rule;           // that led here from the parent
  ir::ValueMap replacements;  // of the parent's values
};

struct Candidate {
  Rewrite rewrite;
  ir::Graph graph;
  Nanoseconds cost;
};

// Values of a map in the order of their keys: maps hash by value ids, whose order would not be the same on every standard library.
std::vector<std::pair<ir::ValueId, ir::ValueId>> sorted(const ir::ValueMap& map) {
  std::vector<std::pair<ir::ValueId, ir::ValueId>> result(map.begin(), map.end());
  std::sort(result.begin(), result.end());
  return result;
}

class Search {
 public:
  Search(ir::Arena& arena, Rewriter& rewriter, const CostFunction& cost, const Options& options)
      : arena_(arena), rewriter_(rewriter), cost_(cost), options_(options), start_(now()) {}

  Result<Outcome> run(const ir::Graph& graph) {
    XFLOW_TRY(const Nanoseconds before, cost_(graph));
    outcome_.before = before;
    outcome_.states = 1;
    max_constant_bytes_ = static_cast<double>(constant_bytes(arena_, graph)) * (1 + options_.max_growth);
    visited_.emplace(ir::structural_hash(arena_, graph), StateId{0});
    states_.push_back(State{graph, before, 0, {}, {}});
    push(0);
    while (!queue_.empty() && !stopped()) {
      const auto [cost, id] = queue_.top();
      queue_.pop();
      if (cost.value > states_[best_].cost.value * options_.alpha) break;  // all others cost at least as much
      expand(id);
    }
    finish();
    return std::move(outcome_);
  }

 private:
  struct Order {
    // Cheapest first, then the one found first.
    bool operator()(const std::pair<Nanoseconds, StateId>& a, const std::pair<Nanoseconds, StateId>& b) const {
      return a.first != b.first ? a.first > b.first : a.second > b.second;
    }
  };

  bool stopped() {
    if (outcome_.states >= options_.max_states) {
      outcome_.stop = StopReason::states;
      return true;
    }
    if (options_.max_seconds && seconds() >= *options_.max_seconds) {
      outcome_.stop = StopReason::time;
      return true;
    }
    return false;
  }

  double now() const {
    return options_.seconds ? options_.seconds() : std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
  }
  double seconds() const { return now() - start_; }

  void report() {
    if (!options_.progress || (outcome_.states & 15U) != 0) return;
    const double at = seconds();
    if (at - reported_ < 0.2) return;
    reported_ = at;
    options_.progress(Progress{outcome_.states, outcome_.before, states_[best_].cost, at});
  }

  void push(StateId id) {
    queue_.emplace(states_[id].cost, id);
    if (states_[id].cost.value < states_[best_].cost.value * (1 - kLeastGain)) best_ = id;
  }

  static bool better(Nanoseconds a, Nanoseconds b) { return a.value < b.value * (1 - kLeastGain); }

  // The graph after a rewrite with its cost; nothing if it is no candidate.
  std::optional<Candidate> evaluate(const ir::Graph& graph, const ir::Uses& uses, Rewrite rewrite) {
    for (const auto& [from, to] : rewrite.replacements)
      if (!admissible(to, uses)) return std::nullopt;
    ir::ValueMap map = rewrite.replacements;
    auto result = ir::replace(arena_, graph, map);
    if (!result || *result == graph) return std::nullopt;
    const auto cost = cost_(*result);
    ++outcome_.states;
    report();
    if (!cost) return std::nullopt;
    return Candidate{std::move(rewrite), *std::move(result), *cost};
  }

  // Every operation that the rewrite brings can stand in a result.
  bool admissible(ir::ValueId value, const ir::Uses& uses) {
    if (!options_.admissible) return true;
    std::vector<ir::NodeId> stack{value.node};
    std::unordered_set<ir::NodeId> seen;
    while (!stack.empty()) {
      const ir::NodeId id = stack.back();
      stack.pop_back();
      const ir::Node& node = arena_.node(id);
      if (uses.contains(id) || node.is_constant || node.kind != ir::NodeKind::operation || !seen.insert(id).second) continue;
      const auto [known, fresh] = admissible_.try_emplace(id, false);
      if (fresh) known->second = options_.admissible(id);
      if (!known->second) return false;
      for (const ir::ValueId operand : node.operands) stack.push_back(operand.node);
    }
    return true;
  }

  void expand(StateId id) {
    ++outcome_.expanded;
    const ir::Graph graph = states_[id].graph;
    const Nanoseconds cost = states_[id].cost;
    const ir::Uses uses(arena_, graph);
    std::vector<Candidate> candidates;
    Descent first(id);
    rewriter_.rewrites(graph, uses, [&](Rewrite rewrite) {
      RuleCount& count = outcome_.rules[rewrite.rule];
      ++count.matched;
      if (auto candidate = evaluate(graph, uses, std::move(rewrite))) {
        if (better(candidate->cost, cost)) {
          ++count.improved;
          // In the order in which they are found: a budget that ends before the last is found has used the first.
          descend(first, candidate->rewrite);
        }
        candidates.push_back(*std::move(candidate));
      }
      return !stopped();
    });
    // And in the order of what they save.
    std::vector<const Candidate*> improving;
    for (const Candidate& c : candidates)
      if (better(c.cost, cost)) improving.push_back(&c);
    std::stable_sort(improving.begin(), improving.end(), [](const Candidate* a, const Candidate* b) { return a->cost < b->cost; });
    Descent best(id);
    for (const Candidate* c : improving) {
      if (improving.size() < 2 || stopped()) break;
      descend(best, c->rewrite);
    }
    for (Candidate& candidate : candidates) add(id, std::move(candidate));
  }

  // The state of the candidate's graph, made where it is not known; nothing for a graph that is too expensive or too large.
  std::optional<StateId> add(StateId parent, Candidate candidate) {
    if (candidate.cost.value > states_[best_].cost.value * options_.alpha) return std::nullopt;
    const auto [known, fresh] = visited_.try_emplace(ir::structural_hash(arena_, candidate.graph), std::nullopt);
    if (!fresh) return known->second;
    if (static_cast<double>(constant_bytes(arena_, candidate.graph)) > max_constant_bytes_) return std::nullopt;
    known->second = states_.size();
    states_.push_back(State{std::move(candidate.graph), candidate.cost, parent, std::move(candidate.rewrite.rule),
                            std::move(candidate.rewrite.replacements)});
    push(states_.size() - 1);
    return states_.size() - 1;
  }

  // Rewrites of one graph applied one after the other, each on the graph that the ones before left. A rewrite k = t of the first graph
  // becomes C(k) = t[C], where C maps values to the equal values that took their place: both sides are equal since C preserves values.
  struct Descent {
    explicit Descent(StateId from) : at(from) {}
    StateId at;
    ir::ValueMap correspondence;
  };

  void descend(Descent& descent, const Rewrite& rewrite) {
    const ir::Graph graph = states_[descent.at].graph;
    const ir::Uses uses(arena_, graph);
    auto here = carried(rewrite, descent.correspondence, uses);
    if (!here) return;
    ir::ValueMap map = here->replacements;
    auto next = evaluate(graph, uses, *std::move(here));
    if (!next || !better(next->cost, states_[descent.at].cost)) return;
    const auto made = add(descent.at, *std::move(next));
    if (!made || !ir::replace(arena_, graph, map)) return;
    compose(descent.correspondence, map);
    descent.at = *made;
  }

  std::optional<Rewrite> carried(const Rewrite& rewrite, const ir::ValueMap& correspondence, const ir::Uses& uses) {
    Rewrite result{rewrite.rule, {}};
    for (const auto& [from, to] : sorted(rewrite.replacements)) {
      const auto now = correspondence.find(from);
      const ir::ValueId key = now == correspondence.end() ? from : now->second;
      if (!uses.contains(key.node)) return std::nullopt;
      ir::ValueMap map = correspondence;
      const auto rebuilt = ir::replace(arena_, ir::Graph{{to}}, map);
      if (!rebuilt) return std::nullopt;
      if (rebuilt->outputs[0] != key) result.replacements.emplace(key, rebuilt->outputs[0]);
    }
    if (result.replacements.empty()) return std::nullopt;
    return result;
  }

  // first, then second.
  static void compose(ir::ValueMap& first, const ir::ValueMap& second) {
    for (auto& [from, to] : first)
      if (const auto next = second.find(to); next != second.end()) to = next->second;
    for (const auto& [from, to] : second) first.try_emplace(from, to);
  }

  void finish() {
    outcome_.best = states_[best_].graph;
    outcome_.after = states_[best_].cost;
    std::vector<StateId> path;
    for (StateId id = best_; id != 0; id = states_[id].parent) path.push_back(id);
    std::reverse(path.begin(), path.end());
    ir::Graph graph = states_[0].graph;
    Nanoseconds cost = states_[0].cost;
    for (const StateId id : path) {
      Step step{states_[id].rule, {}, cost - states_[id].cost};
      for (const auto& [from, to] : sorted(states_[id].replacements)) step.replaced.push_back(from);
      ++outcome_.rules[step.rule].applied;
      outcome_.steps.push_back(std::move(step));
      ir::ValueMap map = states_[id].replacements;
      const auto next = ir::replace(arena_, graph, map);
      if (next) graph = *next;
      compose(outcome_.correspondence, map);
      cost = states_[id].cost;
    }
    std::erase_if(outcome_.correspondence, [](const auto& pair) { return pair.first == pair.second; });
  }

  ir::Arena& arena_;
  Rewriter& rewriter_;
  const CostFunction& cost_;
  const Options& options_;
  const double start_;
  double reported_ = 0;
  double max_constant_bytes_ = 0;
  Outcome outcome_;
  std::vector<State> states_;
  StateId best_ = 0;
  std::priority_queue<std::pair<Nanoseconds, StateId>, std::vector<std::pair<Nanoseconds, StateId>>, Order> queue_;
  std::unordered_map<std::uint64_t, std::optional<StateId>> visited_;
  std::unordered_map<ir::NodeId, bool> admissible_;
};

}  // namespace

const char* name(StopReason reason) {
  switch (reason) {
    case StopReason::exhausted:
      return "no state left within alpha of the best";
    case StopReason::states:
      return "budget of states used up";
    case StopReason::time:
      return "budget of time used up";
  }
  return "";
}

Result<Outcome> search(ir::Arena& arena, const ir::Graph& graph, Rewriter& rewriter, const CostFunction& cost, const Options& options) {
  return Search(arena, rewriter, cost, options).run(graph);
}

std::uint64_t constant_bytes(const ir::Arena& arena, const ir::Graph& graph) {
  std::uint64_t sum = 0;
  std::unordered_set<ir::ValueId> seen;
  const auto count = [&](ir::ValueId v) {
    if (!arena.is_constant(v) || arena.is_absent(v) || !seen.insert(v).second) return;
    const auto dims = ir::constant_shape(arena.type(v).shape);
    if (!dims) return;
    std::uint64_t elements = 1;
    for (const std::int64_t d : *dims) elements *= static_cast<std::uint64_t>(d);
    sum += ir::storage_bytes(arena.type(v).data_type, elements);
  };
  for (const ir::ValueId v : graph.outputs) count(v);
  for (const ir::NodeId id : ir::topological_order(arena, graph)) {
    if (arena.node(id).is_constant) continue;
    for (const ir::ValueId operand : arena.node(id).operands) count(operand);
  }
  return sum;
}

}  // namespace xflow::search
