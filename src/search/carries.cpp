// Slices that are carried over several operations before they save time.
#include <tuple>
#include <unordered_map>

#include "src/search/search_run.h"

namespace xflow::search {

using ir::NodeId;

namespace {

constexpr int kMostSteps = 200;  // of a slice, over all operations
constexpr int kMostInVain = 16;  // since the cheapest graph

}  // namespace

std::optional<StateId> Search::carry(StateId at, NodeId root) {
  const Candidates list = candidates(root);
  for (std::uint32_t k = 0; k < list.size(); ++k) {
    if (!list[k]->rewrite.carries) continue;
    if (stopped()) return std::nullopt;
    if (!know(*list[k]) || vain_carries_.contains(states_[index_of(at)].hash + list[k]->hash)) continue;
    if (const auto next = carry_by(at, k, *list[k])) return next;
    vain_carries_.insert(states_[index_of(at)].hash + list[k]->hash);
  }
  return std::nullopt;
}

std::optional<StateId> Search::carry_by(StateId at, std::uint32_t index, const Candidate& candidate) {
  const std::size_t first_new = work_.graph().arena().size();
  Visited visited;
  bool is_new = false;
  StateId best = at;
  auto next = add(at, index, candidate, visited, is_new);
  for (int steps = 1, in_vain = 0; next && is_new; ++steps) {
    if (!step_to(*next) || stopped()) break;
    const bool is_best = states_[index_of(*next)].time < states_[index_of(best)].time;
    in_vain = is_best ? 0 : in_vain + 1;
    if (is_best) best = *next;
    if (steps == kMostSteps || in_vain == kMostInVain) break;
    const auto rewrite = next_to_carry(first_new);
    if (!rewrite) break;
    next = add(*next, rewrite->first, *rewrite->second, visited, is_new);
  }
  step_to(best);
  if (best == at) return std::nullopt;
  push(best, Part::all);
  return best;
}

std::optional<std::pair<std::uint32_t, std::shared_ptr<Candidate>>> Search::next_to_carry(std::size_t first_new) {
  std::optional<std::pair<std::uint32_t, std::shared_ptr<Candidate>>> result;
  std::tuple<bool, std::size_t, Ticks> best;  // saves time; place of what the slice reads; how much it saves
  const std::vector<NodeId> order = work_.graph().order();
  std::unordered_map<NodeId, std::size_t> places;
  for (std::size_t k = 0; k < order.size(); ++k) places.emplace(order[k], k);
  for (std::size_t number = first_new; number < work_.graph().arena().size(); ++number) {
    const auto root = static_cast<NodeId>(number);
    if (!is_root(root)) continue;
    const Candidates& list = candidates(root);
    for (std::uint32_t k = 0; k < list.size(); ++k) {
      const std::shared_ptr<Candidate>& candidate = list[k];
      if (stopped() || !know(*candidate) || candidate->rewrite.merge != Merge::none) continue;
      const bool saves = candidate->change < Ticks{};
      if (!saves && !candidate->rewrite.carries) continue;
      const std::size_t place = saves ? 0 : places.at(work_.graph().arena().node(root).operands[0].node);
      const std::tuple one(saves, place, Ticks{} - candidate->change);
      if (result && one <= best) continue;
      best = one;
      result.emplace(k, candidate);
    }
  }
  return result;
}

}  // namespace xflow::search
