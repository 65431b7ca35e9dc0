// A lower bound of the max load by prices of groups.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "src/parallel/integer_program.h"
#include "src/parallel/placement_problem.h"
#include "src/parallel/random_numbers.h"
#include "src/parallel/search_budget.h"

namespace xflow::parallel {

// Proves that a T is below the max load of all placements.
//
// Each group has a price. In a placement within T some accelerator holds groups for at least the share
//
//   h = (sum of all prices - most that the CPUs hold within T) / accelerators
//
// A mixed integer program for one accelerator asks for groups of this price whose load is at most T. If
// there are none, T is too small. If there are some, prices change so that no known set of groups reaches
// h, and the question is asked again (column generation, as in Gilmore and Gomory, A Linear Programming
// Approach to the Cutting-Stock Problem, 1961). Prices begin as times, and differ from them as little as
// possible, in the largest ratio. Groups are merged whose tensors cost more than a set of this price can
// pay.
class PriceBound {
 public:
  // Of a problem with an accelerator. Both live longer.
  PriceBound(const PlacementProblem& problem, const IntegerSolver& solver) : problem_(problem), solver_(solver) {}

  // A T that no placement has as max load or less; at least `lower`, which is a bound, and at most `upper`,
  // by halving the gap as far as prices can. Questions that take too many steps are asked again with four
  // times as many. Known sets are kept for the next call.
  double raise(double lower, double upper, SearchBudget& budget);

 private:
  struct Question;
  // Groups that one accelerator can hold, and its load.
  struct KnownSet {
    std::vector<std::uint32_t> groups;
    double load = 0;
  };

  // `unprovable`: known sets reach their share at all prices.
  enum class Answer : std::uint8_t { too_small, unprovable, unknown };

  Answer ask(double time, SearchBudget& budget);
  Answer ask_until(double time, SearchBudget& budget);
  bool fits_cpu(const PlacementGroup& group, double time) const { return problem_.cpus > 0 && group.cpu_time <= time; }
  double cpu_time_left(double time) const;
  std::vector<double> first_prices(double time) const;
  std::vector<double> prices_for(double time, SearchBudget& budget) const;
  double share_of(std::span<const double> prices, double time) const;
  Question question_of(std::span<const double> prices, double share, double time) const;
  double most_transfers(std::span<const double> prices, double share, double time) const;
  std::optional<KnownSet> search(const Question& question, SearchBudget& budget);
  template <typename IsMember>
  KnownSet set_of(const Question& question, const IsMember& decide) const;

  const PlacementProblem& problem_;
  const IntegerSolver& solver_;
  std::uint64_t steps_ = 1'000'000;  // of a question
  double unanswered_ = kInfinity;    // the smallest T for which so many steps did not answer
  double unprovable_ = kInfinity;    // the smallest such T
  std::vector<KnownSet> known_;
  RandomNumbers random_{1};
};

}  // namespace xflow::parallel
