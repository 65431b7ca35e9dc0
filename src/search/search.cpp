#include "src/search/search.h"

#include <algorithm>
#include <chrono>
#include <tuple>

#include "src/search/part_visits.h"
#include "src/search/search_run.h"

namespace xflow::search {
namespace {

using ir::NodeId;
using Clock = std::chrono::steady_clock;

// Of Options::max_seconds, if a lower bound is asked for.
constexpr double kShareOfSearch = 0.9;

}  // namespace

Search::Search(ir::Arena& arena, const ir::Graph& graph, Rewriter& rewriter, const Workspace::Follow& follow, const Options& options,
               const std::shared_ptr<ir::Symbols>& symbols)
    : arena_(arena),
      original_(graph),
      options_(options),
      rewriter_(rewriter),
      follow_(follow),
      work_(arena, graph, rewriter, follow, {options.admissible, options.excluded, kept_bytes(options)}, options.per_operation, symbols),
      start_(now()) {}

Search::~Search() = default;

void Search::begin() {
  const ir::WorkGraph& graph = work_.graph();
  states_.push_back(State{kOriginal, {}, 0, {}, {}, work_.time(), graph.hash(), graph.constant_bytes()});
  path_.push_back(kOriginal);
  visited_.emplace(graph.hash(), kOriginal);
  outcome_.before = cost::nanoseconds(work_.time());
  outcome_.constant_bytes_before = graph.constant_bytes();
  outcome_.states = 1;
  const auto bytes = static_cast<double>(graph.constant_bytes());
  max_constant_bytes_ = bytes + std::max(bytes * options_.max_growth, static_cast<double>(options_.max_growth_bytes));
}

Outcome Search::run() {
  begin();
  if (options_.replay != nullptr) {
    outcome_.stop = StopReason::replayed;
    std::tie(best_, outcome_.replayed) = apply_trace(*options_.replay);
  } else if (options_.own_strategy != nullptr) {
    options_.own_strategy->search(*this);
    if (!stopped()) outcome_.stop = StopReason::ended;
  } else {
    run_strategy();
  }
  if (options_.bound_states > 0) find_lower_bound();
  finish();
  return std::move(outcome_);
}

void Search::run_strategy() {
  push(kOriginal, Part::all);
  if (options_.strategy != Strategy::backtracking) search_parts();
  if (options_.strategy != Strategy::partition && options_.strategy != Strategy::egraph) return search_whole();
  if (!stopped()) outcome_.stop = StopReason::ended;
}

void Search::search_parts() {
  const StateId begin = stopped() ? kOriginal : descend_repeated_windows();
  if (!stopped()) descend(begin);
  if (!stopped()) descend_steepest(kOriginal);
  const StateId descended = best_;
  if (!stopped()) options_.strategy == Strategy::egraph ? search_egraphs() : search_windows();
  if (best_ != descended) push(best_, Part::all);
}

void Search::search_whole() {
  while (!queue_.empty() && !stopped()) {
    const Entry entry = queue_.top();
    queue_.pop();
    if (too_expensive(states_[index_of(entry.state)].time)) continue;
    expand(entry);
    if (is_full()) drop_states();
  }
  if (!stopped_ && has_dropped_) outcome_.stop = StopReason::search_memory;
}

bool Search::too_expensive(Ticks time) const {
  return static_cast<double>(time) > static_cast<double>(states_[index_of(best_)].time) * options_.alpha;
}

bool Search::stopped() {
  if (is_bounding_) return bounding_stopped();
  if (stopped_) return true;
  if (const auto reason = options_.stop ? options_.stop() : std::nullopt) {
    outcome_.stop = *reason;
    stopped_ = true;
  } else if (options_.own_strategy != nullptr && is_full()) {  // it knows states by their numbers
    outcome_.stop = StopReason::search_memory;
    stopped_ = true;
  } else if (outcome_.states >= options_.max_states) {
    outcome_.stop = StopReason::max_states;
    stopped_ = true;
  } else if (options_.max_seconds && seconds() >= *options_.max_seconds * (options_.bound_states > 0 ? kShareOfSearch : 1)) {
    outcome_.stop = StopReason::max_time;
    stopped_ = true;
  } else if (options_.interrupt && options_.interrupt(used())) {
    outcome_.stop = StopReason::costs_changed;
    stopped_ = true;
  }
  return stopped_;
}

double Search::used() const {
  const double states = static_cast<double>(outcome_.states) / static_cast<double>(options_.max_states);
  return options_.max_seconds ? std::max(states, seconds() / *options_.max_seconds) : states;
}

double Search::now() const {
  return options_.seconds ? options_.seconds() : std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

void Search::count_state() {
  ++(is_bounding_ ? outcome_.bound->states : outcome_.states);
  if ((outcome_.states & 15U) == 0) report_progress();
}

void Search::report_progress() {
  if (!options_.progress) return;
  const double at = seconds();
  if (at - reported_ < 0.2) return;
  reported_ = at;
  options_.progress(Progress{outcome_.states, outcome_.before, cost::nanoseconds(states_[index_of(best_)].time), at});
}

bool Search::go_to(StateId target) {
  std::vector<StateId> way;
  std::size_t left = 0;
  for (StateId id = target;; id = states_[index_of(id)].parent) {
    const auto at = std::find(path_.rbegin(), path_.rend(), id);
    if (at != path_.rend()) {
      for (auto leave = path_.rbegin(); leave != at; ++leave, ++left) work_.leave();
      path_.erase(at.base(), path_.end());
      break;
    }
    way.push_back(id);
  }
  if (left + way.size() > 1) ++jumps_;
  for (auto id = way.rbegin(); id != way.rend(); ++id) {
    const State& state = states_[index_of(*id)];
    const Candidates list = candidates(state.root);
    if (state.index >= list.size() || !work_.enter(number_of(*id), *list[state.index])) return false;
    path_.push_back(*id);
  }
  return true;
}

bool Search::know(Candidate& candidate) {
  if (work_.is_known(candidate)) return candidate.possible;
  const bool first = !candidate.costed;
  work_.find_out(candidate);
  count_state();
  if (first && candidate.possible && candidate.change < Ticks{}) ++outcome_.rules[std::string(candidate.rewrite.rule)].improved;
  return candidate.possible;
}

const Candidates& Search::candidates(NodeId root) {
  bool found = false;
  const Candidates& list = work_.candidates(root, found);
  if (found)
    for (const auto& candidate : list) ++outcome_.rules[std::string(candidate->rewrite.rule)].matched;
  return list;
}

bool Search::is_root(NodeId id) const {
  return work_.graph().contains(id) && work_.graph().arena().node(id).kind == ir::NodeKind::operation &&
         !work_.graph().arena().node(id).is_constant;
}

std::optional<StateId> Search::add(StateId parent, std::uint32_t index, const Candidate& candidate, Visited& visited, bool& is_new) {
  const State& from = states_[index_of(parent)];
  State made{parent,
             candidate.root,
             index,
             candidate.rewrite.rule,
             {},
             from.time + candidate.change,
             from.hash + candidate.hash,
             from.bytes + static_cast<std::uint64_t>(candidate.bytes)};
  if (static_cast<double>(made.bytes) > max_constant_bytes_) return std::nullopt;
  const auto [known, inserted] = visited.emplace(made.hash, static_cast<StateId>(states_.size()));
  is_new = inserted;
  if (!inserted) return known->second;
  made.rules = rule_sets_.with(from.rules, made.rule);
  states_.push_back(made);
  keep_if_best(known->second);
  return known->second;
}

void Search::keep_if_best(StateId id) {
  if (states_[index_of(id)].time >= states_[index_of(best_)].time) return;
  best_ = id;
  outcome_.best_states = outcome_.states;
  outcome_.best_seconds = seconds();
  outcome_.improvements.push_back({outcome_.best_seconds, outcome_.best_states, cost::nanoseconds(states_[index_of(id)].time)});
}

bool Search::step_to(StateId id) {
  if (!go_to(id)) return false;
  states_[index_of(id)].time = work_.time();
  return true;
}

void Search::expand(const Entry& entry) {
  if (!step_to(entry.state)) return;
  if (entry.part != Part::rest) ++outcome_.expanded;
  const Ticks before = states_[index_of(best_)].time;
  std::vector<StateId> made;
  for (const NodeId root : entry.part == Part::near ? work_.affected() : work_.graph().order()) {
    if (!is_root(root)) continue;
    if (!work_.has_candidates(root) && stopped()) break;
    ++outcome_.looks;
    const Candidates& list = candidates(root);
    for (std::uint32_t k = 0; k < list.size(); ++k) {
      Candidate& candidate = *list[k];
      const bool was_known = work_.is_known(candidate);
      if (entry.part == Part::near && was_known) continue;
      if (stopped()) break;
      if (!know(candidate) || too_expensive(states_[index_of(entry.state)].time + candidate.change)) continue;
      bool is_new = false;
      const auto next = add(entry.state, k, candidate, visited_, is_new);
      if (!next || !is_new) continue;
      if (was_known) count_state();
      made.push_back(*next);
    }
  }
  if (entry.part == Part::near) push(entry.state, Part::rest);
  for (const StateId id : made) push(id, states_[index_of(id)].time < states_[index_of(entry.state)].time ? Part::all : Part::near);
  const bool descends = options_.strategy != Strategy::backtracking;
  if (descends && states_[index_of(best_)].time < before && !stopped()) descend(best_);
}

Outcome search(ir::Arena& arena, const ir::Graph& graph, Rewriter& rewriter, const Workspace::Follow& follow, const Options& options) {
  return Search(arena, graph, rewriter, follow, options).run();
}

}  // namespace xflow::search
