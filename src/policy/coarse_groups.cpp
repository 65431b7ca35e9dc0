#include "src/policy/coarse_groups.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <utility>

namespace xflow::policy {
namespace {

constexpr double kLeastCost = 0.02;
constexpr double kMostShare = 0.5;
constexpr std::array<double, 3> kSharesOfLatency = {0.1, 0.2, 0.4};

class Joining {
 public:
  explicit Joining(const parallel::PlacementProblem& problem) : problem_(problem), parents_(problem.size()) {
    std::iota(parents_.begin(), parents_.end(), 0U);
    for (const parallel::PlacementGroup& group : problem.groups) {
      times_.push_back(group.on_accelerator ? group.accelerator_time : group.cpu_time);
      bytes_.push_back(group.bytes);
      accelerated_.push_back(group.on_accelerator);
    }
    mean_ = std::accumulate(times_.begin(), times_.end(), 0.0) / std::max(1U, problem.devices());
  }

  double mean() const { return mean_; }
  std::uint32_t of(std::uint32_t group) {
    while (parents_[group] != group) group = parents_[group] = parents_[parents_[group]];
    return group;
  }
  // Joins the clusters of two groups within a share of a device. The cluster that is no more and the one
  // that has its groups then; equal if nothing changes.
  std::pair<std::uint32_t, std::uint32_t> join(std::uint32_t a, std::uint32_t b, double share) {
    const std::uint32_t left = std::min(of(a), of(b));
    const std::uint32_t right = std::max(of(a), of(b));
    if (left == right || accelerated_[left] != accelerated_[right]) return {left, left};
    if (times_[left] + times_[right] > share * mean_ || bytes_[left] + bytes_[right] > share * problem_.memory) return {left, left};
    parents_[right] = left;
    times_[left] += times_[right];
    bytes_[left] += bytes_[right];
    return {right, left};
  }
  Clusters clusters() {
    std::vector<std::uint32_t> numbers(problem_.size(), problem_.size());
    Clusters result;
    std::uint32_t next = 0;
    for (std::uint32_t group = 0; group < problem_.size(); ++group) {
      std::uint32_t& number = numbers[of(group)];
      if (number == problem_.size()) number = next++;
      result.push_back(number);
    }
    return result;
  }

 private:
  const parallel::PlacementProblem& problem_;
  double mean_ = 0;
  std::vector<std::uint32_t> parents_;
  std::vector<double> times_;
  std::vector<double> bytes_;
  std::vector<bool> accelerated_;
};

Clusters of_tensors(const parallel::PlacementProblem& problem) {
  Joining joining(problem);
  std::vector<std::uint32_t> tensors(problem.tensors.size());
  std::iota(tensors.begin(), tensors.end(), 0U);
  std::ranges::stable_sort(tensors, [&](std::uint32_t a, std::uint32_t b) { return problem.tensors[a].cost > problem.tensors[b].cost; });
  for (const std::uint32_t number : tensors) {
    const parallel::GroupTensor& tensor = problem.tensors[number];
    if (tensor.cost < kLeastCost * joining.mean()) break;
    for (std::size_t k = 1; k < tensor.groups.size(); ++k) joining.join(tensor.groups[k - 1], tensor.groups[k], kMostShare);
  }
  return joining.clusters();
}

// Edges between clusters while these grow.
class GrowingClusters {
 public:
  explicit GrowingClusters(const parallel::PlacementProblem& problem) : joining_(problem), readers_(problem.size()), read_(problem.size()) {
    std::vector<std::pair<double, parallel::PlacementEdge>> edges;
    for (const auto& [from, to] : problem.order) {
      if (from == to) continue;
      readers_[from].insert(to);
      read_[to].insert(from);
      edges.emplace_back(cost_between(problem, from, to), parallel::PlacementEdge{from, to});
    }
    std::ranges::stable_sort(edges, [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [cost, edge] : edges) edges_.push_back(edge);
  }

  Clusters grow(double share) {
    bool changes = true;
    while (changes) {
      changes = false;
      for (const auto& [from, to] : edges_) changes = join(joining_.of(from), joining_.of(to), share) || changes;
    }
    return joining_.clusters();
  }

 private:
  static double cost_between(const parallel::PlacementProblem& problem, std::uint32_t from, std::uint32_t to) {
    double cost = 0;
    for (const std::uint32_t tensor : problem.tensors_of[from]) {
      if (std::ranges::binary_search(problem.tensors[tensor].groups, to)) cost += problem.tensors[tensor].cost;
    }
    return cost;
  }
  bool join(std::uint32_t from, std::uint32_t to, double share) {
    if (from == to || (readers_[from].size() > 1 && read_[to].size() > 1)) return false;
    const auto [old, now] = joining_.join(from, to, share);
    if (old == now) return false;
    take_edges(old, now, readers_, read_);
    take_edges(old, now, read_, readers_);
    return true;
  }
  using Neighbours = std::vector<std::set<std::uint32_t>>;
  static void take_edges(std::uint32_t old, std::uint32_t now, Neighbours& there, Neighbours& back) {
    for (const std::uint32_t other : there[old]) {
      back[other].erase(old);
      if (other == now) continue;
      back[other].insert(now);
      there[now].insert(other);
    }
    there[old].clear();
  }

  Joining joining_;
  Neighbours readers_;
  Neighbours read_;
  std::vector<parallel::PlacementEdge> edges_;  // those that cost most first
};

}  // namespace

std::vector<Clusters> coarse_levels(const parallel::PlacementProblem& problem, PlacementObjective objective) {
  if (objective == PlacementObjective::max_load) return {of_tensors(problem)};
  GrowingClusters growing(problem);
  std::vector<Clusters> result;
  result.reserve(kSharesOfLatency.size());
  for (const double share : kSharesOfLatency) result.push_back(growing.grow(share));
  std::ranges::reverse(result);
  return result;
}

}  // namespace xflow::policy
