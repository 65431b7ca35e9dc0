#include "src/policy/coarse_groups.h"

#include <algorithm>
#include <numeric>

namespace xflow::policy {
namespace {

constexpr double kMostShare = 0.5;
constexpr double kLeastCost = 0.02;

class Clusters {
 public:
  explicit Clusters(const parallel::PlacementProblem& problem) : memory_(problem.memory), parents_(problem.size()) {
    std::iota(parents_.begin(), parents_.end(), 0U);
    for (const parallel::PlacementGroup& group : problem.groups) {
      times_.push_back(group.on_accelerator ? group.accelerator_time : group.cpu_time);
      bytes_.push_back(group.bytes);
      accelerated_.push_back(group.on_accelerator);
    }
    share_ = std::accumulate(times_.begin(), times_.end(), 0.0) / std::max(1U, problem.devices());
  }

  double share() const { return share_; }
  std::uint32_t of(std::uint32_t group) {
    while (parents_[group] != group) group = parents_[group] = parents_[parents_[group]];
    return group;
  }
  void join(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t left = std::min(of(a), of(b));
    const std::uint32_t right = std::max(of(a), of(b));
    if (left == right || accelerated_[left] != accelerated_[right]) return;
    if (times_[left] + times_[right] > kMostShare * share_ || bytes_[left] + bytes_[right] > kMostShare * memory_) return;
    parents_[right] = left;
    times_[left] += times_[right];
    bytes_[left] += bytes_[right];
  }

 private:
  double memory_;
  double share_ = 0;
  std::vector<std::uint32_t> parents_;
  std::vector<double> times_;
  std::vector<double> bytes_;
  std::vector<bool> accelerated_;
};

}  // namespace

std::vector<std::uint32_t> coarse_groups(const parallel::PlacementProblem& problem) {
  Clusters clusters(problem);
  std::vector<std::uint32_t> tensors(problem.tensors.size());
  std::iota(tensors.begin(), tensors.end(), 0U);
  std::ranges::stable_sort(tensors, [&](std::uint32_t a, std::uint32_t b) { return problem.tensors[a].cost > problem.tensors[b].cost; });
  for (const std::uint32_t number : tensors) {
    const parallel::GroupTensor& tensor = problem.tensors[number];
    if (tensor.cost < kLeastCost * clusters.share()) break;
    for (std::size_t k = 1; k < tensor.groups.size(); ++k) clusters.join(tensor.groups[k - 1], tensor.groups[k]);
  }
  std::vector<std::uint32_t> numbers(problem.size(), problem.size());
  std::vector<std::uint32_t> result;
  std::uint32_t next = 0;
  for (std::uint32_t group = 0; group < problem.size(); ++group) {
    std::uint32_t& number = numbers[clusters.of(group)];
    if (number == problem.size()) number = next++;
    result.push_back(number);
  }
  return result;
}

}  // namespace xflow::policy
