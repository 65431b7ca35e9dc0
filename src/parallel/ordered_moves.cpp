#include "src/parallel/ordered_moves.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace xflow::parallel {
namespace {

constexpr std::uint32_t kNoFusion = UINT32_MAX;
constexpr std::size_t kManyNodes = 2000;
// Of the nodes: tasks that a proposal moves.
constexpr double kFirstShare = 0.01;
constexpr double kLargestShare = 0.1;

}  // namespace

OrderedMoves::OrderedMoves(const OrderedProblem& problem, bool fuses, RandomNumbers& random)
    : problem_(problem), fuses_(fuses && !problem.fusions.empty()), random_(random) {
  const std::size_t nodes = problem.workload.nodes.size();
  first_neighbour_.assign(nodes + 1, 0);
  marks_.assign(nodes, 0);
  choice_of_.assign(nodes, kNoFusion);
  for (std::uint32_t k = 0; k < problem.fusions.size(); ++k) choice_of_[problem.fusions[k].node] = k;
  for (const WorkloadTensor& tensor : problem.workload.tensors) {
    first_neighbour_[tensor.source + 1] += static_cast<std::uint32_t>(tensor.readers.size());
    for (const std::uint32_t reader : tensor.readers) ++first_neighbour_[reader + 1];
  }
  for (std::size_t node = 0; node < nodes; ++node) first_neighbour_[node + 1] += first_neighbour_[node];
  neighbours_.resize(first_neighbour_.back());
  std::vector<std::uint32_t> next = first_neighbour_;
  for (const WorkloadTensor& tensor : problem.workload.tensors)
    for (const std::uint32_t reader : tensor.readers) {
      neighbours_[next[tensor.source]++] = {reader, tensor.bytes};
      neighbours_[next[reader]++] = {tensor.source, tensor.bytes};
    }
  choices_.resize(problem.fusions.size());
  std::iota(choices_.begin(), choices_.end(), 0);
  std::ranges::stable_sort(choices_, {}, [&](std::uint32_t choice) { return problem.fusions[choice].into; });
  first_choice_.assign(nodes + 1, 0);
  for (const FusionChoice& choice : problem.fusions) ++first_choice_[choice.into + 1];
  for (std::size_t node = 0; node < nodes; ++node) first_choice_[node + 1] += first_choice_[node];
  traffic_.resize(problem.cluster.size());
  moved_in_.assign(nodes, 0);
  most_tasks_ = std::max(1.0, kFirstShare * static_cast<double>(nodes));
}

bool OrderedMoves::propose(OrderedPlan& plan, std::span<const double> loads, std::span<const std::uint32_t> critical) {
  old_devices_.clear();
  old_priorities_.clear();
  toggled_.clear();
  if (has_moved_tasks_) most_tasks_ = std::clamp(2 * most_tasks_, 1.0, std::max(1.0, kLargestShare * static_cast<double>(marks_.size())));
  has_moved_tasks_ = false;
  if (plan.devices.empty()) return false;
  if (!apply(random_kind(), plan, loads, critical)) return false;
  const bool has_changed = !old_devices_.empty() || !old_priorities_.empty() || !toggled_.empty();
  // Without a change nothing is simulated, so that the number of tasks stays.
  has_moved_tasks_ = has_moved_tasks_ && has_changed;
  return has_changed;
}

// In reverse: a node may have changed twice.
void OrderedMoves::undo(OrderedPlan& plan) {
  constexpr double kFewer = 0.7;
  if (has_moved_tasks_) most_tasks_ = std::max(1.0, kFewer * most_tasks_);
  has_moved_tasks_ = false;
  kinds_.learn(0);
  for (auto old = old_devices_.rbegin(); old != old_devices_.rend(); ++old) plan.devices[old->first] = old->second;
  for (auto old = old_priorities_.rbegin(); old != old_priorities_.rend(); ++old) plan.priorities[old->first] = old->second;
  for (const std::uint32_t choice : toggled_) plan.fused[choice] = !plan.fused[choice];
}

OrderedMoves::MoveKind OrderedMoves::random_kind() {
  static constexpr std::array<double, kKinds> kSharesOfFew = {24, 16, 10, 25, 16, 8, 16, 10};
  static constexpr std::array<double, kKinds> kSharesOfMany = {4, 14, 10, 1000, 4, 8, 4, 6};
  const auto& shares = marks_.size() < kManyNodes ? kSharesOfFew : kSharesOfMany;
  std::array<double, kKinds> weights = {};
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    if (kind >= static_cast<std::size_t>(MoveKind::fusion) && !fuses_) continue;
    if (kind < static_cast<std::size_t>(MoveKind::priority) && problem_.cluster.size() < 2) continue;
    weights[kind] = shares[kind];
  }
  return static_cast<MoveKind>(kinds_.draw(weights, random_));
}

bool OrderedMoves::apply(MoveKind kind, OrderedPlan& plan, std::span<const double> loads, std::span<const std::uint32_t> critical) {
  const bool is_critical = !critical.empty() && random_.below(4) > 0;
  const std::uint32_t seed =
      root_of(plan, is_critical ? critical[random_.below(static_cast<std::uint32_t>(critical.size()))] : random_node());
  switch (kind) {
    case MoveKind::node:
      cluster_ = {seed};
      move_cluster(plan, random_target(plan, plan.devices[seed], loads));
      return true;
    case MoveKind::cluster:
      grow(plan, seed);
      move_cluster(plan, random_target(plan, plan.devices[seed], loads));
      return true;
    case MoveKind::exchange: {
      const std::uint32_t from = plan.devices[seed];
      grow(plan, seed);
      const std::uint32_t to = random_target(plan, from, loads);
      constexpr int kDraws = 64;
      for (int draw = 0; draw < kDraws; ++draw) {
        const std::uint32_t other = root_of(plan, random_node());
        if (plan.devices[other] != to) continue;
        std::swap(cluster_, exchanged_);
        grow(plan, other);
        move_cluster(plan, from);
        std::swap(cluster_, exchanged_);
        move_cluster(plan, to);
        return true;
      }
      return false;
    }
    case MoveKind::tasks:
      move_tasks(plan, loads, critical);
      return true;
    case MoveKind::priority:
      change_priorities(plan, critical);
      return true;
    case MoveKind::priorities:
      grow(plan, seed);
      shift_priorities(plan);
      return true;
    case MoveKind::fusion:
      change_fusion(plan, seed);
      return true;
    case MoveKind::fusions: {
      grow(plan, seed);
      const bool is_fused = random_.below(3) > 0;
      // Of a node after those that it may be fused into, whose devices then count.
      std::ranges::sort(cluster_, std::greater<>());
      for (const std::uint32_t node : cluster_)
        if (choice_of_[node] != kNoFusion) set_fused(plan, choice_of_[node], is_fused);
      return true;
    }
  }
  return false;
}

std::uint32_t OrderedMoves::root_of(const OrderedPlan& plan, std::uint32_t node) const {
  while (choice_of_[node] != kNoFusion && plan.fused[choice_of_[node]]) node = problem_.fusions[choice_of_[node]].into;
  return node;
}

// Sets cluster_ to the seed and nodes near it, in the order in which they are reached over tensors of at
// least as many bytes as a random one. Mostly they are on the seed's device.
void OrderedMoves::grow(const OrderedPlan& plan, std::uint32_t seed) {
  const double nodes = static_cast<double>(marks_.size());
  // Clusters of few of many nodes change the step too little to be simulated.
  constexpr double kSmallestShare = 1.0 / 4000;
  const double smallest = std::max(2.0, nodes * kSmallestShare);
  const double largest = std::max(smallest, nodes / problem_.cluster.size());
  const auto most = static_cast<std::size_t>(smallest * std::pow(largest / smallest, 1 - random_.unit()));
  const std::vector<WorkloadTensor>& tensors = problem_.workload.tensors;
  const bool is_any = tensors.empty() || random_.below(2) == 0;
  const double threshold = is_any ? 0 : tensors[random_.below(static_cast<std::uint32_t>(tensors.size()))].bytes;
  constexpr std::uint32_t kCrossings = 5;
  const bool stays = random_.below(kCrossings) > 0;
  ++mark_;
  cluster_ = {seed};
  marks_[seed] = mark_;
  for (std::size_t k = 0; k < cluster_.size() && cluster_.size() < most; ++k) {
    for (const OrderedNeighbour& neighbour : neighbours(cluster_[k])) {
      if (marks_[neighbour.node] == mark_ || neighbour.bytes < threshold) continue;
      if (stays && plan.devices[root_of(plan, neighbour.node)] != plan.devices[seed]) continue;
      marks_[neighbour.node] = mark_;
      cluster_.push_back(neighbour.node);
    }
  }
}

// Another device: one of a neighbour of the cluster, the one with the least load, or any.
std::uint32_t OrderedMoves::random_target(const OrderedPlan& plan, std::uint32_t from, std::span<const double> loads) {
  const std::uint32_t devices = problem_.cluster.size();
  std::uint32_t to = from;
  const std::uint32_t draw = random_.below(4);
  if (draw < 2) {
    constexpr int kNeighbours = 8;
    for (int k = 0; k < kNeighbours && to == from; ++k) {
      const auto near = neighbours(cluster_[random_.below(static_cast<std::uint32_t>(cluster_.size()))]);
      if (near.empty()) continue;
      to = plan.devices[root_of(plan, near[random_.below(static_cast<std::uint32_t>(near.size()))].node)];
    }
  } else if (draw == 2) {
    to = static_cast<std::uint32_t>(std::ranges::min_element(loads) - loads.begin());
  }
  if (to != from) return to;
  to = random_.below(devices - 1);
  return to < from ? to : to + 1;
}

// With the tasks of its nodes.
void OrderedMoves::move_cluster(OrderedPlan& plan, std::uint32_t to) {
  for (const std::uint32_t node : cluster_) set_device(plan, root_of(plan, node), to);
}

// Sets traffic_ to that of the task of the root.
void OrderedMoves::find_traffic(const OrderedPlan& plan, std::uint32_t root) {
  ++mark_;
  cluster_ = {root};
  marks_[root] = mark_;
  for (std::size_t k = 0; k < cluster_.size(); ++k) {
    const std::uint32_t node = cluster_[k];
    for (std::uint32_t at = first_choice_[node]; at < first_choice_[node + 1]; ++at) {
      if (!plan.fused[choices_[at]]) continue;
      cluster_.push_back(problem_.fusions[choices_[at]].node);
      marks_[cluster_.back()] = mark_;
    }
  }
  std::ranges::fill(traffic_, 0);
  for (const std::uint32_t node : cluster_)
    for (const OrderedNeighbour& neighbour : neighbours(node))
      if (marks_[neighbour.node] != mark_) traffic_[plan.devices[root_of(plan, neighbour.node)]] += neighbour.bytes;
}

// The device with the most traffic, each times a random factor; busier ones than that of the task count
// less.
std::uint32_t OrderedMoves::nearer_device(const OrderedPlan& plan, std::uint32_t root, std::span<const double> loads) {
  constexpr double kBusier = 0.7;
  constexpr double kLeastFactor = 0.2;
  constexpr double kMostFactor = 1.8;
  find_traffic(plan, root);
  const std::uint32_t from = plan.devices[root];
  std::uint32_t nearer = from;
  double most = traffic_[from];
  for (std::uint32_t device = 0; device < traffic_.size(); ++device) {
    if (device == from || traffic_[device] <= 0) continue;
    const double factor = kLeastFactor + (kMostFactor - kLeastFactor) * random_.unit();
    const double own = traffic_[device] * factor * (loads[device] <= loads[from] ? 1 : kBusier);
    if (own <= most) continue;
    most = own;
    nearer = device;
  }
  return nearer;
}

void OrderedMoves::move_tasks(OrderedPlan& plan, std::span<const double> loads, std::span<const std::uint32_t> critical) {
  has_moved_tasks_ = true;
  ++proposal_;
  const auto most = static_cast<std::uint32_t>(most_tasks_);
  constexpr std::uint32_t kDraws = 8;
  std::uint32_t moved = 0;
  for (std::uint32_t draw = 0; draw < kDraws * (most + 1) && moved < most; ++draw) {
    const bool is_critical = !critical.empty() && random_.below(4) == 0;
    const std::uint32_t root =
        root_of(plan, is_critical ? critical[random_.below(static_cast<std::uint32_t>(critical.size()))] : random_node());
    if (moved_in_[root] == proposal_) continue;
    const std::uint32_t to = nearer_device(plan, root, loads);
    if (to == plan.devices[root]) continue;
    set_device(plan, root, to);
    moved_in_[root] = proposal_;
    ++moved;
  }
}

// Takes or gives up a fusion of the node or of a neighbour into it; any fusion if they have none.
void OrderedMoves::change_fusion(OrderedPlan& plan, std::uint32_t seed) {
  std::uint32_t choice = choice_of_[seed];
  std::uint32_t seen = choice == kNoFusion ? 0 : 1;
  for (const OrderedNeighbour& neighbour : neighbours(seed)) {
    const std::uint32_t its = choice_of_[neighbour.node];
    if (its == kNoFusion || problem_.fusions[its].into != seed) continue;
    // Each of those that were seen with the same probability.
    if (random_.below(++seen) == 0) choice = its;
  }
  if (choice == kNoFusion) choice = random_.below(static_cast<std::uint32_t>(plan.fused.size()));
  set_fused(plan, choice, !plan.fused[choice]);
}

// Puts a critical task above the one that it waits for, swaps two tasks of a device, or puts one just above
// the other.
void OrderedMoves::change_priorities(OrderedPlan& plan, std::span<const std::uint32_t> critical) {
  if (critical.size() > 1 && random_.below(2) == 0) {
    const std::uint32_t k = random_.below(static_cast<std::uint32_t>(critical.size() - 1));
    const std::uint32_t node = root_of(plan, critical[k]);
    const float before = plan.priorities[root_of(plan, critical[k + 1])];
    set_priority(plan, node, std::max(plan.priorities[node], std::nextafter(before, std::numeric_limits<float>::max())));
    if (!old_priorities_.empty()) return;
  }
  const std::uint32_t node = root_of(plan, random_node());
  constexpr int kDraws = 64;
  for (int draw = 0; draw < kDraws; ++draw) {
    const std::uint32_t other = root_of(plan, random_node());
    if (other == node || plan.devices[other] != plan.devices[node]) continue;
    const float own = plan.priorities[node];
    const float its = plan.priorities[other];
    if (random_.below(2) == 0) {
      set_priority(plan, node, its);
      set_priority(plan, other, own);
    } else {
      set_priority(plan, node, std::nextafter(its, std::numeric_limits<float>::max()));
    }
    return;
  }
}

// Earlier or later by a share of the range of priorities.
void OrderedMoves::shift_priorities(OrderedPlan& plan) {
  constexpr double kLargestShift = 0.2;
  constexpr double kSmallestShift = 0.0005;
  const auto [low, high] = std::ranges::minmax(plan.priorities);
  const double share = kSmallestShift * std::pow(kLargestShift / kSmallestShift, random_.unit());
  const double shift = (random_.below(2) == 0 ? share : -share) * (static_cast<double>(high) - low);
  for (const std::uint32_t node : cluster_) set_priority(plan, node, static_cast<float>(plan.priorities[node] + shift));
}

void OrderedMoves::set_device(OrderedPlan& plan, std::uint32_t node, std::uint32_t device) {
  if (plan.devices[node] == device) return;
  old_devices_.push_back({node, plan.devices[node]});
  plan.devices[node] = device;
}

void OrderedMoves::set_priority(OrderedPlan& plan, std::uint32_t node, float priority) {
  if (plan.priorities[node] == priority || !std::isfinite(priority)) return;
  old_priorities_.push_back({node, plan.priorities[node]});
  plan.priorities[node] = priority;
}

// A node whose fusion is given up stays on its device.
void OrderedMoves::set_fused(OrderedPlan& plan, std::uint32_t choice, bool is_fused) {
  if (plan.fused[choice] == is_fused) return;
  const std::uint32_t node = problem_.fusions[choice].node;
  if (!is_fused) set_device(plan, node, plan.devices[root_of(plan, node)]);
  plan.fused[choice] = is_fused;
  toggled_.push_back(choice);
}

}  // namespace xflow::parallel
