#include "src/parallel/proposals.h"

#include <algorithm>

namespace xflow::parallel {

Proposals::Proposals(const PlacementProblem& problem, RandomNumbers& random)
    : problem_(&problem), random_(&random), seen_(problem.size(), 0) {
  for (const GroupTensor& tensor : problem.tensors) costs_.push_back(tensor.cost);
  std::sort(costs_.begin(), costs_.end());
}

bool Proposals::propose(DeviceLoads& loads, std::uint32_t busy) {
  moves_.clear();
  if (problem_->devices() < 2) return false;
  const std::uint32_t group = random_group(loads, busy);
  bool done = false;
  switch (random_->below(3)) {
    case 0:
      done = move_group(loads, group);
      break;
    case 1:
      done = swap_groups(loads, group);
      break;
    default:
      done = move_cluster(loads, group);
      break;
  }
  if (!done) undo(loads);
  return done && !moves_.empty();
}

void Proposals::undo(DeviceLoads& loads) {
  for (std::size_t k = moves_.size(); k-- > 0;) loads.move(moves_[k].group, moves_[k].from);
  moves_.clear();
}

bool Proposals::move(DeviceLoads& loads, std::uint32_t group, std::uint32_t to) {
  const std::uint32_t from = loads.device_of(group);
  if (from == to) return true;
  if (!loads.has_memory_for(group, to)) return false;
  loads.move(group, to);
  moves_.push_back({group, from});
  return true;
}

bool Proposals::move_group(DeviceLoads& loads, std::uint32_t group) { return move(loads, group, random_device(loads, group)); }

bool Proposals::swap_groups(DeviceLoads& loads, std::uint32_t group) {
  const std::uint32_t other = random_->below(problem_->size());
  const std::uint32_t to = loads.device_of(other);
  const std::uint32_t from = loads.device_of(group);
  if (to == from) return false;
  // The larger one leaves first, so that the memory for the other is free.
  if (problem_->is_accelerator(from) && !problem_->groups[other].on_accelerator) return false;
  if (problem_->is_accelerator(to) && !problem_->groups[group].on_accelerator) return false;
  const auto fits = [&](std::uint32_t device, std::uint32_t enters, std::uint32_t leaves) {
    return !problem_->is_accelerator(device) ||
           loads.bytes(device) + problem_->groups[enters].bytes - problem_->groups[leaves].bytes <= problem_->memory;
  };
  if (!fits(from, other, group) || !fits(to, group, other)) return false;
  loads.move(group, to);
  loads.move(other, from);
  moves_.push_back({group, from});
  moves_.push_back({other, to});
  return true;
}

bool Proposals::move_cluster(DeviceLoads& loads, std::uint32_t group) {
  if (costs_.empty()) return false;
  constexpr std::uint32_t kSizes = 7;  // the largest has 2 to the power of this groups; small ones are more frequent
  const double threshold = costs_[random_->below(static_cast<std::uint32_t>(costs_.size()))];
  const std::size_t most = std::size_t{2} << random_->below(1 + random_->below(kSizes));
  const bool same_device = random_->below(2) == 0;
  const std::uint32_t from = loads.device_of(group);
  const std::uint32_t to = random_device(loads, group);
  cluster_.assign(1, group);
  seen_[group] = ++clusters_;
  for (std::size_t k = 0; k < cluster_.size() && cluster_.size() < most; ++k) {
    for (const std::uint32_t tensor : problem_->tensors_of[cluster_[k]]) {
      const GroupTensor& t = problem_->tensors[tensor];
      if (t.cost < threshold) continue;
      for (const std::uint32_t next : t.groups) {
        if (seen_[next] == clusters_ || cluster_.size() == most || (same_device && loads.device_of(next) != from)) continue;
        seen_[next] = clusters_;
        cluster_.push_back(next);
      }
    }
  }
  return std::ranges::all_of(cluster_, [&](std::uint32_t member) { return move(loads, member, to); });
}

std::uint32_t Proposals::random_group(const DeviceLoads& loads, std::uint32_t busy) {
  constexpr int kTries = 8;
  std::uint32_t group = random_->below(problem_->size());
  if (random_->below(2) == 0) return group;
  for (int k = 0; k < kTries && loads.device_of(group) != busy; ++k) group = random_->below(problem_->size());
  return group;
}

std::uint32_t Proposals::random_device(const DeviceLoads& loads, std::uint32_t group) {
  const std::vector<std::uint32_t>& tensors = problem_->tensors_of[group];
  if (!tensors.empty() && random_->below(2) == 0) {
    const std::vector<std::uint32_t>& groups =
        problem_->tensors[tensors[random_->below(static_cast<std::uint32_t>(tensors.size()))]].groups;
    const std::uint32_t device = loads.device_of(groups[random_->below(static_cast<std::uint32_t>(groups.size()))]);
    if (device != loads.device_of(group)) return device;
  }
  const std::uint32_t device = random_->below(problem_->devices() - 1);
  return device < loads.device_of(group) ? device : device + 1;
}

}  // namespace xflow::parallel
