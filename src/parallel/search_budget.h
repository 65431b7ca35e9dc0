// Steps and time of a search.
#pragma once

#include <xflow/cancel.h>
#include <xflow/place.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace xflow::parallel {

// Counts steps until a limit is met. The limits do not change the sequence of steps, they end it.
class SearchBudget {
  static constexpr std::int64_t kStepsPerLook = 256;

 public:
  // No limits.
  SearchBudget() = default;
  // `per_look`: the number of steps after which it looks at the clock.
  SearchBudget(Seconds time, std::optional<std::uint64_t> steps, CancellationToken cancel, std::int64_t per_look = kStepsPerLook)
      : end_(ending(time)), most_(steps.value_or(UINT64_MAX)), cancel_(std::move(cancel)), per_look_(per_look) {}

  // Adds steps that are made next; false, without adding them, once a limit is met.
  bool spend(std::uint64_t steps = 1) {
    if (stop_) return false;
    if (steps > most_ - spent_) {
      stop_ = PlacementStop::steps;
      return false;
    }
    until_look_ -= static_cast<std::int64_t>(steps);
    if (until_look_ <= 0) look();
    if (stop_) return false;
    spent_ += steps;
    return true;
  }
  // A budget with the same limits, and of at most so many of the steps that are left.
  SearchBudget part(std::uint64_t steps) const {
    SearchBudget result = *this;
    result.spent_ = 0;
    result.most_ = std::min(steps, most_ - spent_);
    return result;
  }
  // Adds what a part spent. Its own limit of steps is not one of the whole.
  void take_back(const SearchBudget& part) {
    spent_ += part.spent_;
    if (part.stop_ && (*part.stop_ != PlacementStop::steps || part.most_ == most_ - (spent_ - part.spent_))) stop_ = part.stop_;
  }
  std::uint64_t spent() const { return spent_; }
  // The number of steps up to the limit.
  std::uint64_t left() const { return most_ - spent_; }
  // Whether this share of the time limit is over, or the search is cancelled.
  bool is_past(double share) const {
    if (cancel_.is_finishing()) return true;
    return end_ && Clock::now() - begin_ >= share * (*end_ - begin_);
  }
  // The limit that was met, if any.
  std::optional<PlacementStop> stop() const { return stop_; }

 private:
  using Clock = std::chrono::steady_clock;

  static std::optional<Clock::time_point> ending(Seconds time) {
    constexpr Seconds kForever{1e9};
    if (!(time < kForever)) return std::nullopt;
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(time);
  }
  void look() {
    until_look_ = per_look_;
    if (cancel_.is_finishing()) stop_ = PlacementStop::cancelled;
    if (end_ && Clock::now() >= *end_) stop_ = PlacementStop::time_limit;
  }

  Clock::time_point begin_ = Clock::now();
  std::optional<Clock::time_point> end_;
  std::uint64_t most_ = UINT64_MAX;
  CancellationToken cancel_;
  std::int64_t per_look_ = kStepsPerLook;
  std::uint64_t spent_ = 0;
  std::int64_t until_look_ = 0;
  std::optional<PlacementStop> stop_;
};

}  // namespace xflow::parallel
