// Changes of a plan of a whole step, as a local search proposes them.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "src/parallel/kinds_by_gain.h"
#include "src/parallel/ordered_step.h"
#include "src/parallel/random_numbers.h"

namespace xflow::parallel {

class OrderedMoves {
 public:
  // The arguments outlive it. Without `fuses`, fusions stay as they are.
  OrderedMoves(const OrderedProblem& problem, bool fuses, RandomNumbers& random);

  // Changes the plan at random: moves a node, or a cluster that grows over heavy tensors, or swaps two such
  // clusters; moves several tasks, each to a device that holds more of what it reads and writes; swaps two
  // priorities, raises a node above another one, or shifts the priorities of a cluster; takes or gives up a
  // fusion, or those of a cluster. With many nodes most proposals move tasks: more after a proposal that was
  // not taken back, fewer after one that was. Half of the proposals are of kinds drawn by what late ones of
  // a kind have gained. `loads`: seconds of each device, for devices that have little to do. `critical`:
  // nodes as find_critical_nodes gives them, where most other proposals begin. False if nothing changed.
  bool propose(OrderedPlan& plan, std::span<const double> loads, std::span<const std::uint32_t> critical);
  // Takes the last proposal back.
  void undo(OrderedPlan& plan);
  // Says that the last proposal stays and made the step shorter by `gain` seconds; less than 0 if longer.
  void keep(double gain) { kinds_.learn(gain); }

 private:
  enum class MoveKind : std::uint8_t { node, cluster, exchange, tasks, priority, priorities, fusion, fusions };
  static constexpr std::size_t kKinds = 8;
  struct OrderedNeighbour {
    std::uint32_t node = 0;
    double bytes = 0;
  };

  MoveKind random_kind();
  bool apply(MoveKind kind, OrderedPlan& plan, std::span<const double> loads, std::span<const std::uint32_t> critical);
  std::uint32_t random_node() { return random_.below(static_cast<std::uint32_t>(marks_.size())); }
  std::uint32_t root_of(const OrderedPlan& plan, std::uint32_t node) const;
  std::span<const OrderedNeighbour> neighbours(std::uint32_t node) const {
    return std::span(neighbours_).subspan(first_neighbour_[node], first_neighbour_[node + 1] - first_neighbour_[node]);
  }
  void grow(const OrderedPlan& plan, std::uint32_t seed);
  std::uint32_t random_target(const OrderedPlan& plan, std::uint32_t from, std::span<const double> loads);
  void move_cluster(OrderedPlan& plan, std::uint32_t to);
  void find_traffic(const OrderedPlan& plan, std::uint32_t root);
  std::uint32_t nearer_device(const OrderedPlan& plan, std::uint32_t root, std::span<const double> loads);
  void move_tasks(OrderedPlan& plan, std::span<const double> loads, std::span<const std::uint32_t> critical);
  void change_priorities(OrderedPlan& plan, std::span<const std::uint32_t> critical);
  void change_fusion(OrderedPlan& plan, std::uint32_t seed);
  void shift_priorities(OrderedPlan& plan);
  void set_device(OrderedPlan& plan, std::uint32_t node, std::uint32_t device);
  void set_priority(OrderedPlan& plan, std::uint32_t node, float priority);
  void set_fused(OrderedPlan& plan, std::uint32_t choice, bool is_fused);

  const OrderedProblem problem_;
  const bool fuses_;
  RandomNumbers& random_;
  std::vector<std::uint32_t> first_neighbour_;  // of each node, and the end
  std::vector<OrderedNeighbour> neighbours_;
  std::vector<std::uint32_t> choice_of_;     // of each node
  std::vector<std::uint32_t> choices_;       // by the node that they are into
  std::vector<std::uint32_t> first_choice_;  // in choices_, of each node, and the end
  std::vector<std::uint32_t> marks_;         // of each node: the last cluster or task that has it
  std::uint32_t mark_ = 0;
  std::vector<std::uint32_t> cluster_;
  std::vector<std::uint32_t> exchanged_;  // the other cluster of an exchange
  std::vector<double> traffic_;           // of a task, by device: bytes from and to other tasks
  double most_tasks_ = 1;                 // that a proposal moves
  bool has_moved_tasks_ = false;          // the last proposal
  KindsByGain<kKinds> kinds_;             // by seconds
  std::vector<std::uint32_t> moved_in_;   // of each node: the last proposal that moved its task
  std::uint32_t proposal_ = 0;
  // What the last proposal replaced.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> old_devices_;
  std::vector<std::pair<std::uint32_t, float>> old_priorities_;
  std::vector<std::uint32_t> toggled_;
};

}  // namespace xflow::parallel
