// The memory of a search: when its states take too much, the expensive ones are dropped.
#include <algorithm>
#include <vector>

#include "src/search/search_run.h"

namespace xflow::search {

namespace {

// What a state takes: itself, its place in the queue, and its hash among those visited with the nodes and
// buckets of the table.
constexpr std::uint64_t kBytesOfHash = 48;
// A quarter of Options::max_bytes, but not more than kMostKept, is for cached candidates.
constexpr std::uint64_t kQuarters = 4;
constexpr std::uint64_t kMostKept = 64U << 20U;

}  // namespace

std::uint64_t Search::kept_bytes(const Options& options) { return std::min(options.max_bytes / kQuarters, kMostKept); }

bool Search::is_full() const {
  constexpr std::uint64_t kBytesOfState = sizeof(State) + sizeof(Entry) + kBytesOfHash;
  return states_.size() > (options_.max_bytes - kept_bytes(options_)) / kBytesOfState;
}

// The states on the way to those of the queue, to the best, and to the cheapest of each set of rules, which
// may become finalists.
std::vector<bool> Search::needed_states(std::span<const Entry> entries) const {
  std::vector<bool> needed(states_.size(), false);
  needed[0] = true;
  const auto need = [&](StateId id) {
    for (; !needed[index_of(id)]; id = states_[index_of(id)].parent) needed[index_of(id)] = true;
  };
  need(best_);
  for (const Entry& entry : entries) need(entry.state);
  if (options_.finalists <= 1) return needed;
  for (const auto& [rules, state] : cheapest_by_rules()) need(state);
  return needed;
}

void Search::drop_states() {
  go_to(kOriginal);
  work_.forget_left_states();
  std::vector<Entry> entries;
  for (; !queue_.empty(); queue_.pop()) entries.push_back(queue_.top());
  const std::size_t before = states_.size();
  std::vector<bool> needed;
  do {
    entries.resize(entries.size() / 2);
    needed = needed_states(entries);
  } while (entries.size() > 1 && static_cast<std::size_t>(std::ranges::count(needed, true)) > before / 2);
  has_dropped_ = true;
  first_number_ += before;

  std::vector<StateId> now(before);
  std::vector<State> kept;
  for (std::size_t k = 0; k < before; ++k) {
    if (!needed[k]) continue;
    now[k] = static_cast<StateId>(kept.size());
    kept.push_back(states_[k]);
    kept.back().parent = now[index_of(states_[k].parent)];
  }
  states_ = std::move(kept);
  best_ = now[index_of(best_)];
  Visited visited;
  for (const auto& [hash, id] : visited_)
    if (needed[index_of(id)]) visited.emplace(hash, now[index_of(id)]);
  visited_ = std::move(visited);
  for (Entry entry : entries) {
    entry.state = now[index_of(entry.state)];
    queue_.push(entry);
  }
}

}  // namespace xflow::search
