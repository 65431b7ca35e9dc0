// A lower bound of the time that rewrites inside disjoint parts of the original reach.
#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <limits>

#include "src/search/search_run.h"
#include "src/search/windows.h"

namespace xflow::search {

using ir::NodeId;

namespace {

// Operations in a part, in the first round and in those that follow with what is left of the budget. An open
// part is split into parts of half the size, down to the smallest.
constexpr std::array<std::size_t, 3> kLargestParts = {8, 16, 32};
constexpr std::size_t kSmallestPart = 2;
// A graph of at most so many operations is one part at first.
constexpr std::size_t kWholeGraph = 12;
// Graphs costed for a part: few for large ones, so that all parts are searched before one takes what is
// left.
constexpr std::uint64_t states_of_part(std::size_t size) {
  return size > 16 ? 3'000 : size > 8 ? 1'000 : size > 4 ? 300 : size > 2 ? 1'000 : 2'000;
}

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

}  // namespace

bool Search::ends_run() {
  const auto reason = options_.stop ? options_.stop() : std::nullopt;
  if (reason) outcome_.stop = *reason;
  return reason.has_value();
}

bool Search::bounding_stopped() {
  return ends_run() || outcome_.bound->states >= options_.bound_states || (options_.max_seconds && seconds() >= *options_.max_seconds);
}

void Search::find_lower_bound() {
  outcome_.bound.emplace();
  is_bounding_ = true;
  KnownParts known;
  std::optional<LowerBound> best;
  for (const std::size_t size : kLargestParts) {
    const auto found = step_to(kOriginal) && !ends_run() ? bound_parts(size, known) : std::nullopt;
    if (!found || ends_run()) break;
    // A later round counts if its parts are larger and none is open.
    if (!best || (found->open_parts == 0 && found->parts < best->parts)) best = found;
    if (best->parts == 1 || stopped()) break;
  }
  if (best) best->states = outcome_.bound->states;
  outcome_.bound = best;
  is_bounding_ = false;
}

std::optional<LowerBound> Search::bound_parts(std::size_t size, KnownParts& known) {
  LowerBound bound;
  std::deque<Window> left;
  const auto split = [&](const Window& within, std::size_t most) {
    std::ranges::move(parts_of(work_.graph(), within, most), std::back_inserter(left));
  };
  Ticks lower = states_[0].time;
  Ticks open{};
  split({}, work_.graph().operations() <= kWholeGraph ? kWholeGraph : size);
  while (!left.empty()) {
    const Window part = std::move(left.front());
    left.pop_front();
    const std::uint64_t key = key_of(work_.graph(), part);
    auto at = known.find(key);
    if (at == known.end() && !stopped()) {
      at = known.emplace(key, bound_part(part)).first;
      if (!step_to(kOriginal)) return std::nullopt;
    }
    const PartBound found = at == known.end() ? PartBound{} : at->second;
    if (!found.whole && part.size() > kSmallestPart && !stopped()) {
      split(part, std::max(part.size() / 2, kSmallestPart));
      continue;
    }
    ++bound.parts;
    const Ticks saved = found.whole ? found.saved : work_.time_of(part);
    lower = lower - saved;
    if (found.whole) continue;
    ++bound.open_parts;
    open = open + saved;
  }
  bound.time = std::max(cost::nanoseconds(lower), Nanoseconds(0));
  bound.open_time = cost::nanoseconds(open);
  return bound;
}

Search::PartBound Search::bound_part(const Window& part) {
  WindowRun run{part, work_.graph().arena().size(), std::numeric_limits<double>::infinity(), kOriginal, {}, {}};
  std::ranges::sort(run.inside);
  run.visited.emplace(states_[0].hash, kOriginal);
  run.queue.push({kOriginal, Part::all, states_[0].time});
  const std::uint64_t end = outcome_.bound->states + states_of_part(part.size());
  while (!run.queue.empty()) {
    if (outcome_.bound->states >= end || stopped()) return {};
    const Entry entry = run.queue.top();
    run.queue.pop();
    if (!expand_in(run, entry)) return {};
  }
  Ticks least = states_[0].time;
  for (const auto& [hash, state] : run.visited) least = std::min(least, states_[index_of(state)].time);
  return {true, states_[0].time - least};
}

}  // namespace xflow::search
