#include "src/optimizer/remeasured_search.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "src/cost/incremental_cost.h"

namespace xflow::api {

double seconds_to_restart(const search::Outcome& outcome) { return 1.25 * outcome.best_seconds + 0.5; }

namespace {

constexpr int kMostSearches = 3;
constexpr int kMostTimedSearches = 8;
// Deviations that are added to expected costs. What may be quicker than expected is looked at first; then
// only what is likely to be quicker counts, since hopes may lead a search away from what is known.
constexpr double kHopeful = -0.5;
constexpr double kDoubtful = 1;
constexpr double kPartOfFirst = 0.5;     // of the budget; after it kernels are timed again
constexpr double kPartOfHopeful = 0.25;  // of the seconds; a search with hopeful costs ends after it

void become_original(const ir::Graph& graph, search::Outcome& outcome) {
  outcome.after = outcome.before;
  outcome.constant_bytes_after = outcome.constant_bytes_before;
  outcome.best = graph;
  outcome.correspondence.clear();
  outcome.steps.clear();
  outcome.others.clear();
}

}  // namespace

RemeasuredSearch::RemeasuredSearch(ir::Arena& arena, const ir::Graph& graph, cost::CostModel& model, search::Rewriter& rewriter,
                                   search::Options options)
    : arena_(arena),
      graph_(graph),
      model_(model),
      rewriter_(rewriter),
      max_seconds_(options.max_seconds),
      next_(std::move(options)),
      begin_(now()) {
  next_.interrupt = [this](double used) { return interrupts(used); };
  // A bound needs the costs of all kernels, and a strategy of its own may use those of any.
  const bool expects = next_.bound_states == 0 && next_.replay == nullptr && next_.own_strategy == nullptr;
  expect(expects ? std::optional(kHopeful) : std::nullopt);
}

void RemeasuredSearch::expect(std::optional<double> deviations) {
  expects_ = deviations;
  model_.expect_costs(deviations);
  model_.forget();
}

bool RemeasuredSearch::interrupts(double used) {
  const cost::CostStatistics& kernels = model_.statistics();
  was_cut_ = expects_ == kHopeful && max_seconds_ && kernels.left_out > 0 && now() - search_begin_ >= kPartOfHopeful * *max_seconds_;
  if (was_cut_) return true;
  if (has_asked_ || used < kPartOfFirst || kernels.provisional == 0) return false;
  has_asked_ = true;
  return model_.remeasure({});
}

double RemeasuredSearch::now() const {
  return next_.seconds ? next_.seconds() : std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

search::Outcome RemeasuredSearch::run() {
  search_begin_ = now();
  was_cut_ = false;
  search::Outcome outcome = search::search(
      arena_, graph_, rewriter_, [this](const ir::WorkGraph& work) { return model_.follow(work); }, next_);
  searching_ = now() - search_begin_;
  return outcome;
}

bool RemeasuredSearch::is_timing_quicker() const {
  const cost::CostStatistics& kernels = model_.statistics();
  if (kernels.measured == 0) return false;
  return kernels.measured_seconds / static_cast<double>(kernels.measured) * static_cast<double>(kernels.left_out) < searching_;
}

std::optional<Nanoseconds> RemeasuredSearch::time_of(const ir::Graph& graph) {
  const auto cost = model_.cost(graph);
  if (!cost) return std::nullopt;
  // In the steps in which the search adds (src/cost/incremental_cost.h).
  const Nanoseconds per_operation = cost::nanoseconds(cost::ticks_of(next_.per_operation));
  return cost->time + per_operation * static_cast<double>(ir::WorkGraph(arena_, graph).operations());
}

void RemeasuredSearch::price(search::Outcome& outcome) {
  const auto before = time_of(graph_);
  const auto after = time_of(outcome.best);
  if (!before || !after) return;
  outcome.before = *before;
  outcome.after = *after;
  for (search::Finalist& other : outcome.others) other.after = time_of(other.graph).value_or(other.after);
  std::erase_if(outcome.others, [&](const search::Finalist& other) { return other.after >= outcome.before; });
  std::ranges::stable_sort(outcome.others, {}, &search::Finalist::after);
  if (outcome.after >= outcome.before) become_original(graph_, outcome);
}

bool RemeasuredSearch::is_unsafe(const search::Outcome& outcome) {
  return next_.finalists <= 1 && !outcome.steps.empty() && !model_.is_timed(outcome.best);
}

void RemeasuredSearch::keep(const search::Outcome& outcome) {
  if (cheapest_) price(*cheapest_);
  if (!cheapest_ || outcome.after < cheapest_->after) cheapest_ = outcome;
}

void RemeasuredSearch::choose(search::Outcome& outcome) {
  const search::StopReason stop = outcome.stop;
  const std::optional<search::LowerBound> bound = outcome.bound;
  price(outcome);
  keep(outcome);
  outcome = *std::move(cheapest_);
  outcome.stop = stop;
  outcome.bound = bound;
  cheapest_.reset();
}

bool RemeasuredSearch::restarts(search::Outcome& outcome) {
  if (next_.stop && next_.stop()) {
    if (cheapest_) choose(outcome);
    if (is_unsafe(outcome)) become_original(graph_, outcome);
    return false;
  }
  if (is_last_) {
    if (cheapest_) choose(outcome);
    return false;
  }
  std::vector<ir::Graph> graphs = {graph_, outcome.best};
  for (const search::Finalist& other : outcome.others) graphs.push_back(other.graph);
  const bool timed = model_.time_kernels(graphs);
  graphs.resize(2);
  const bool remeasured = (outcome.stop == search::StopReason::costs_changed && !was_cut_) || model_.remeasure(graphs);
  if (timed || remeasured || model_.is_outdated()) {
    model_.forget();
    price(outcome);
  }
  if (is_unsafe(outcome)) {  // kernels that cannot be timed are refused from now on
    expect(std::nullopt);
    if (++rounds_ <= kMostTimedSearches) return begins_again(outcome);
    become_original(graph_, outcome);
  }
  if (!timed && !remeasured) {
    if (expects_ == kHopeful && model_.statistics().left_out > 0) {
      keep(outcome);
      expect(kDoubtful);
      return begins_again(outcome);
    }
    if (cheapest_) choose(outcome);
    return false;
  }
  const bool is_over = used() >= 1;
  if (timed ? is_over : ++searches_ == kMostSearches || (is_over && std::exchange(has_overrun_, true))) {
    if (next_.bound_states > 0) {
      keep(outcome);
      is_last_ = true;
      return begins_again(outcome);
    }
    choose(outcome);
    return false;
  }
  keep(outcome);
  if (timed && (++rounds_ >= kMostTimedSearches || is_timing_quicker())) {
    expect(std::nullopt);
  } else if (expects_ == kHopeful && used() >= 2 * kPartOfHopeful) {
    expect(kDoubtful);
  }
  return begins_again(outcome);
}

double RemeasuredSearch::used() const { return max_seconds_ ? (now() - begin_) / *max_seconds_ : 0; }

bool RemeasuredSearch::begins_again(const search::Outcome& outcome) {
  has_asked_ = true;
  if (max_seconds_) next_.max_seconds = std::max(seconds_to_restart(outcome), *max_seconds_ - (now() - begin_));
  return true;
}

}  // namespace xflow::api
