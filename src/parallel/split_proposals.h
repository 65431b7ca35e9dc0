// Proposals of a search of splits.
#pragma once

#include <cstdint>
#include <vector>

#include "src/parallel/random_numbers.h"
#include "src/parallel/split_model.h"
#include "src/parallel/split_plan.h"

namespace xflow::parallel {

class SplitProposals {
 public:
  // The arguments must outlive it.
  SplitProposals(SplitModel& model, std::uint32_t devices, RandomNumbers& random);

  // Whether no operator has parts.
  bool empty() const { return movable_.empty(); }
  // Changes the plan of an operator, of all of its kind, or of those of its kind with the same plan, at
  // random or to that of a neighbour; half of the time also of what follows. False, without a change, if the
  // operators have no such parts.
  bool propose(SplitPlan& plan);
  // A random plan of each operator that has parts, as proposals draw them. Operators of one kind that share
  // weights have one plan.
  SplitPlan random_start();

 private:
  void add_tied(std::vector<std::uint32_t>& moved) const;
  std::uint32_t random_read(std::uint32_t op);
  std::uint32_t neighbour(std::uint32_t op);
  OperatorPlan random_plan(std::uint32_t op);
  void follow(SplitPlan& plan, const std::vector<std::uint32_t>& moved, bool passes_products);

  SplitModel& model_;
  const std::uint32_t devices_;
  RandomNumbers& random_;
  std::vector<std::vector<std::uint32_t>> members_;  // operators, by kind
  std::vector<std::uint32_t> movable_;               // operators with parts
};

}  // namespace xflow::parallel
