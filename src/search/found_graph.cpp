// The result of a search: the graphs that it hands on, each with the path to it.
#include <algorithm>
#include <set>

#include "src/search/search_run.h"

namespace xflow::search {

using ir::NodeId;
using ir::ValueId;

void Search::finish() {
  best_ = chosen_.value_or(best_);
  go_to(best_);
  Finalist best = describe();
  outcome_.best = std::move(best.graph);
  outcome_.correspondence = std::move(best.correspondence);
  outcome_.after = best.after;
  outcome_.steps = std::move(best.steps);
  outcome_.constant_bytes_after = best.constant_bytes;
  for (const Step& step : outcome_.steps) ++outcome_.rules[step.rule].applied;
  if (options_.finalists > 1 && !outcome_.steps.empty()) find_others();
}

std::map<RuleSets::Id, StateId> Search::cheapest_by_rules() const {
  std::map<RuleSets::Id, StateId> cheapest;
  for (std::size_t k = 1; k < states_.size(); ++k) {
    const auto [at, fresh] = cheapest.try_emplace(states_[k].rules, static_cast<StateId>(k));
    if (!fresh && states_[k].time < states_[index_of(at->second)].time) at->second = static_cast<StateId>(k);
  }
  return cheapest;
}

void Search::find_others() {
  const std::map<RuleSets::Id, StateId> cheapest = cheapest_by_rules();
  std::vector<StateId> order;
  order.reserve(cheapest.size());
  for (const auto& [rules, state] : cheapest) order.push_back(state);
  std::ranges::sort(order, {}, [&](StateId id) { return std::pair(states_[index_of(id)].time, id); });
  std::vector<RuleSets::Id> chosen{states_[index_of(best_)].rules};
  std::set<std::uint64_t> hashes{states_[index_of(best_)].hash};
  for (const StateId id : order) {
    if (chosen.size() >= options_.finalists || states_[index_of(id)].time >= states_[0].time) return;
    const RuleSets::Id rules = states_[index_of(id)].rules;
    if (std::ranges::any_of(chosen, [&](RuleSets::Id other) { return rule_sets_.contains(rules, other); })) continue;
    if (!hashes.insert(states_[index_of(id)].hash).second) continue;
    if (!go_to(id) || work_.time() >= states_[0].time) continue;
    Finalist other = describe();
    // The hash of a graph in which values became equal depends on the order of the rewrites.
    const auto is_it = [&](const Finalist& known) { return known.graph == other.graph; };
    if (other.graph == outcome_.best || std::ranges::any_of(outcome_.others, is_it)) continue;
    chosen.push_back(rules);
    outcome_.others.push_back(std::move(other));
  }
  std::ranges::stable_sort(outcome_.others, {}, &Finalist::after);
}

Finalist Search::describe() {
  Finalist found;
  const ir::WorkGraph& graph = work_.graph();
  const std::vector<std::uint64_t> matches = matches_of_path();
  found.after = cost::nanoseconds(work_.time());
  found.constant_bytes = graph.constant_bytes();
  ir::ValueMap extracted;
  found.graph = path_.size() == 1 ? original_ : graph.extract(arena_, extracted);
  // The original value that each value stands for.
  ir::ValueMap stands_for;
  const auto original = [&](ValueId v) -> std::optional<ValueId> {
    if (const auto found = stands_for.find(v); found != stands_for.end()) return found->second;
    if (const auto source = graph.source_of(v.node)) return ValueId{*source, v.output};
    return std::nullopt;
  };
  const std::vector<std::vector<ir::Replacement>> replaced = work_.replaced();
  for (std::size_t k = 0; k < replaced.size(); ++k) {
    const State& state = states_[index_of(path_[k + 1])];
    Step step{std::string(state.rule),
              {},
              work_.originals(k),
              cost::nanoseconds(states_[index_of(state.parent)].time - state.time),
              state.root,
              matches[k]};
    for (const auto& [from, to] : replaced[k]) {
      const auto known = original(from);
      if (!known) continue;
      step.replaced.push_back(*known);
      if (!graph.source_of(to.node)) stands_for.emplace(to, *known);
    }
    found.steps.push_back(std::move(step));
  }
  // The final value of each replaced value, computed from the last replacement to the first.
  ir::ValueMap became;
  for (auto list = replaced.rbegin(); list != replaced.rend(); ++list) {
    for (auto pair = list->rbegin(); pair != list->rend(); ++pair) {
      const auto later = became.find(pair->second);
      became.insert_or_assign(pair->first, later == became.end() ? pair->second : later->second);
    }
  }
  for (const NodeId id : ir::topological_order(arena_, original_)) {
    const auto copy = graph.copy_of(id);
    if (!copy || path_.size() == 1) continue;
    for (std::uint32_t output = 0; output < arena_.node(id).outputs.size(); ++output) {
      const auto next = became.find({*copy, output});
      const auto now = extracted.find(next == became.end() ? ValueId{*copy, output} : next->second);
      if (now != extracted.end() && now->second != ValueId{id, output}) found.correspondence.emplace(ValueId{id, output}, now->second);
    }
  }
  return found;
}

}  // namespace xflow::search
