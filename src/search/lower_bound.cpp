// A lower bound of the time that rewrites inside disjoint parts of the original reach.
#include <algorithm>
#include <array>
#include <deque>
#include <iterator>

#include "src/search/part_visits.h"
#include "src/search/search_run.h"
#include "src/search/windows.h"

namespace xflow::search {

using ir::NodeId;

namespace {

// Operations in a part, in the first round and in the later ones, which use the remaining budget. An open
// part is split into parts of half the size, down to the smallest.
constexpr std::array<std::size_t, 3> kLargestParts = {8, 16, 32};
constexpr std::size_t kSmallestPart = 2;
// A graph of at most so many operations is one part at first.
constexpr std::size_t kWholeGraph = 12;
// A hash of all that decides which rewrites a part has and what they save: its structure and that of its
// neighbours, the values of small constants, expressions of constants, and how often values are used. Rules
// ask nothing of the values of other constants (ir::Constant::kSmall).
std::uint64_t key_of(const ir::WorkGraph& graph, const Window& part) {
  const ir::Arena& arena = graph.arena();
  Window around = neighbours_of(graph, part);
  around.insert(around.begin(), part.begin(), part.end());
  std::uint64_t key = signature_of(graph, around);
  const auto add = [&key](std::uint64_t value) { key = (key ^ value) * 0x9E3779B97F4A7C15ULL + (key >> 29U); };
  add(part.size());
  for (const NodeId id : around) {
    const ir::Node& node = arena.node(id);
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k) add(graph.use_count({id, k}));
    for (const ir::ValueId operand : node.operands) {
      if (arena.is_absent(operand) || !arena.is_constant(operand)) continue;
      const ir::Node& constant = arena.node(operand.node);
      add(graph.use_count(operand));
      if (constant.kind != ir::NodeKind::constant || constant.constant.is_small()) add(constant.hash);
    }
  }
  return key;
}

// The bytes of the constants that operations of a part read.
struct ReadBytes {
  std::int64_t all = 0;
  std::int64_t shared = 0;  // of the large ones that operations of other parts read, too
};
ReadBytes read_bytes(const ir::WorkGraph& graph, const Window& part) {
  const ir::Arena& arena = graph.arena();
  std::unordered_map<ir::ValueId, std::size_t> uses;
  for (const NodeId id : part)
    for (const ir::ValueId operand : arena.node(id).operands)
      if (!arena.is_absent(operand) && arena.is_constant(operand)) ++uses[operand];
  ReadBytes read;
  for (const auto& [value, count] : uses) {
    const auto bytes = static_cast<std::int64_t>(graph.computed_bytes(value));
    const ir::Node& constant = arena.node(value);
    const bool is_large = constant.kind != ir::NodeKind::constant || !constant.constant.is_small();
    read.all += bytes;
    if (is_large && graph.use_count(value) > count) read.shared += bytes;
  }
  return read;
}

}  // namespace

bool Search::ends_run() {
  const auto reason = options_.stop ? options_.stop() : std::nullopt;
  if (reason) outcome_.stop = *reason;
  return reason.has_value();
}

bool Search::bounding_stopped() {
  if (ends_run() || (options_.max_seconds && seconds() >= *options_.max_seconds)) return true;
  if (is_full()) return true;
  return !is_joining_ && outcome_.bound->states >= options_.bound_states;
}

void Search::find_lower_bound() {
  outcome_.bound.emplace();
  is_bounding_ = true;
  visits_ = std::make_unique<PartVisits>(*this);
  KnownParts known;
  std::optional<Parts> best;
  for (const std::size_t size : kLargestParts) {
    auto found = step_to(kOriginal) && !ends_run() ? bound_parts(size, known) : std::nullopt;
    if (!found || ends_run()) break;
    // A later round counts if its parts are larger and none is open.
    if (!best || (found->bound.open_parts == 0 && found->bound.parts < best->bound.parts)) best = std::move(found);
    if (best->bound.parts == 1 || stopped()) break;
  }
  visits_->end();
  if (best) {
    join_parts(*best);
    best->bound.states = outcome_.bound->states;
    outcome_.bound = best->bound;
  } else {
    outcome_.bound.reset();
  }
  is_bounding_ = false;
}

std::optional<Search::Parts> Search::bound_parts(std::size_t size, KnownParts& known) {
  Parts parts;
  LowerBound& bound = parts.bound;
  std::deque<std::pair<Window, std::uint64_t>> left;  // with their keys
  const auto split = [&](const Window& within, std::size_t most) {
    for (Window& part : parts_of(work_.graph(), within, most)) {
      const std::uint64_t key = key_of(work_.graph(), part);
      if (!known.contains(key)) visits_->plan(part, key);
      left.emplace_back(std::move(part), key);
    }
  };
  Ticks open{};
  split({}, work_.graph().operations() <= kWholeGraph ? kWholeGraph : size);
  while (!left.empty()) {
    auto [part, key] = std::move(left.front());
    left.pop_front();
    auto at = known.find(key);
    if (at == known.end() && !stopped()) {
      const std::uint64_t most = options_.bound_states - outcome_.bound->states;
      at = known.emplace(key, take_visit(visits_->take(part, key, most), part)).first;
    }
    const bool whole = at != known.end() && at->second.whole;
    if (!whole && part.size() > kSmallestPart && !stopped()) {
      split(part, std::max(part.size() / 2, kSmallestPart));
      continue;
    }
    ++bound.parts;
    if (!whole) {
      ++bound.open_parts;
      open = open + work_.time_of(part);
    }
    parts.visited.emplace_back(std::move(part), at == known.end() ? nullptr : &at->second);
  }
  bound.time = std::max(cost::nanoseconds(states_[0].time - open - most_saved(parts)), Nanoseconds(0));
  bound.open_time = cost::nanoseconds(open);
  return parts;
}

Search::VisitedPart Search::take_visit(const PartVisit& visit, const Window& part) {
  outcome_.bound->states += visit.costed;
  outcome_.expanded += visit.expanded;
  outcome_.looks += visit.looks;
  for (const auto& [rule, count] : visit.rules) {
    outcome_.rules[rule].matched += count.matched;
    outcome_.rules[rule].improved += count.improved;
  }
  VisitedPart visited{visit.whole, {GrowthChoice{}}, {}, part, work_.graph().arena().size()};
  const std::size_t offset = states_.size() - 1;
  for (State state : visit.states) {
    if (state.parent != kOriginal) state.parent = static_cast<StateId>(index_of(state.parent) + offset);
    state.rules = rule_sets_.with(states_[index_of(state.parent)].rules, state.rule);
    const auto id = static_cast<StateId>(states_.size());
    states_.push_back(state);
    keep_if_best(id);
    visited.choices.push_back({states_[0].time - state.time, static_cast<std::int64_t>(state.bytes - states_[0].bytes), id});
  }
  std::ranges::copy_if(visited.choices, std::back_inserter(visited.gains), [](const GrowthChoice& c) { return c.saved >= Ticks{}; });
  visited.choices = efficient_choices(std::move(visited.choices));
  visited.gains = efficient_choices(std::move(visited.gains));
  return visited;
}

Ticks Search::most_saved(const Parts& parts) const {
  std::vector<GrowthChoices> choices;
  std::int64_t room = room_after(kOriginal);
  for (const auto& [part, visited] : parts.visited) {
    const ReadBytes read = read_bytes(work_.graph(), part);
    if (visited == nullptr || !visited->whole) {
      room += read.all;  // an unknown graph of an open part may do without its constants
      continue;
    }
    choices.push_back(visited->choices);
    if (read.shared == 0) continue;
    // The growth is not that of each part alone: a weight that two parts read goes when neither reads it,
    // and both may make the same new one.
    GrowthChoice best = choices.back().back();
    best.bytes = std::min<std::int64_t>(choices.back().front().bytes, 0) - read.shared;
    choices.back() = {best};
  }
  return plan_growth(choices, room).most;
}

void Search::join_parts(const Parts& parts) {
  std::vector<GrowthChoices> choices;
  choices.reserve(parts.visited.size());
  for (const auto& [part, visited] : parts.visited) choices.push_back(visited == nullptr ? GrowthChoices{{}} : visited->gains);
  const GrowthPlan plan = plan_growth(choices, room_after(kOriginal));
  is_joining_ = true;
  StateId base = kOriginal;
  for (std::size_t k = 0; k < choices.size() && !stopped(); ++k) {
    const auto& [part, visited] = parts.visited[k];
    const StateId target = choices[k][plan.chosen[k]].state;
    if (target == kOriginal || !step_to(base)) continue;
    const OpenWindow searched{visited->operations, 0, visited->first_new};
    repeat(base, rewrites_between(kOriginal, target, searched), {part, 0, work_.graph().arena().size()});
  }
  is_joining_ = false;
  if (base != kOriginal && !stopped()) descend(base);
}

}  // namespace xflow::search
