// Proposals of a search of splits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/parallel/group_moves.h"
#include "src/parallel/kinds_by_gain.h"
#include "src/parallel/operator_groups.h"
#include "src/parallel/random_numbers.h"
#include "src/parallel/split_model.h"
#include "src/parallel/split_plan.h"
#include "src/parallel/split_sweep.h"

namespace xflow::parallel {

class SplitProposals {
 public:
  // The first two arguments must outlive it. `seconds`: of each operator. With `groups`, proposals also move
  // whole operators.
  SplitProposals(SplitModel& model, std::uint32_t devices, RandomNumbers& random, std::span<const double> seconds,
                 OperatorGroups groups = {});

  // Whether no operator has parts, and there are no groups.
  bool empty() const { return movable_.empty() && groups_.members.empty(); }
  // Changes a plan at random; false if it does not.
  //
  // Some proposals change the plan of an operator, of all of its kind, or of those of its kind with the same
  // plan: at random, a little, or to that of a neighbour; half of the time also of what follows. Others do
  // the same with the next one of swept_splits(). Others are those of GroupMoves: groups that move are
  // whole. Half of all are of kinds drawn by what they have gained.
  bool propose(SplitPlan& plan);
  // What the last proposal that changed the plan made better, in seconds; 0 if it was not taken.
  void learn(double gain) { kinds_.learn(gain); }
  // A random plan of each operator that has parts, as proposals draw them. Operators of one kind that share
  // weights have one plan.
  SplitPlan random_start();

 private:
  enum Kind : std::size_t { random_split, swept_split, first_move, kinds = first_move + GroupMoves::kKinds };
  bool split(SplitPlan& plan);
  bool sweep(SplitPlan& plan);
  // Gives the plan to the operator and, at random, to others; false if it is not possible.
  bool apply(std::uint32_t op, const OperatorPlan& own, SplitPlan& plan);
  bool move_groups(GroupMoves::Kind kind, SplitPlan& plan);
  void add_tied(std::vector<std::uint32_t>& moved) const;
  std::uint32_t random_operator();
  std::uint32_t random_read(std::uint32_t op);
  std::uint32_t neighbour(std::uint32_t op);
  OperatorPlan random_plan(std::uint32_t op);
  // A plan with one split more, less or changed, or elsewhere; without micro-batches.
  OperatorPlan changed_plan(std::uint32_t op, const OperatorPlan& before);
  void follow(SplitPlan& plan, const std::vector<std::uint32_t>& moved, bool passes_products);

  SplitModel& model_;
  const std::uint32_t devices_;
  RandomNumbers& random_;
  std::vector<std::vector<std::uint32_t>> members_;  // operators, by kind
  std::vector<std::uint32_t> movable_;               // operators with parts
  std::vector<std::uint32_t> movable_kinds_;         // of them
  std::vector<SweptSplit> swept_;
  std::size_t next_swept_ = 0;
  OperatorGroups groups_;
  GroupMoves moves_;
  std::vector<std::uint32_t> places_;  // of groups, for a proposal
  KindsByGain<kinds> kinds_;
};

}  // namespace xflow::parallel
