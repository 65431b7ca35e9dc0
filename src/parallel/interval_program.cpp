#include "src/parallel/interval_program.h"

#include <algorithm>
#include <limits>

namespace xflow::parallel {
namespace {

// Of one program: 800 MB with the steps that lead to them.
constexpr std::size_t kMostValues = 50'000'000;

// How the values of devices combine.
enum class Combination : std::uint8_t { largest, sum };

// D[position][cpus][accelerators]: best value of the groups before the position on at most so many devices.
// For the sum, CPUs are not counted: all work of CPUs is on the first.
class IntervalProgram {
 public:
  IntervalProgram(const PlacementProblem& problem, std::span<const std::uint32_t> order, double limit, Combination combination)
      : problem_(problem),
        order_(order),
        limit_(limit),
        combination_(combination),
        cpus_(combination == Combination::largest ? problem.cpus : 0),
        width_((problem.accelerators + std::size_t{1}) * (cpus_ + std::size_t{1})),
        counts_(problem.tensors.size(), 0) {}

  std::optional<IntervalPlacement> run(SearchBudget& budget) {
    if ((order_.size() + 1) * width_ > kMostValues) return std::nullopt;
    best_.assign((order_.size() + 1) * width_, kInfinity);
    from_.assign(best_.size(), {});
    std::fill_n(best_.begin(), width_, 0.0);
    for (std::uint32_t end = 1; end <= order_.size(); ++end) {
      if (!budget.spend(fill(end))) return std::nullopt;
    }
    const double value = best_.back();
    if (!(value < limit_)) return std::nullopt;
    return IntervalPlacement{value, devices()};
  }

 private:
  struct Step {
    std::uint32_t begin = 0;
    bool on_accelerator = false;
  };

  // The state of a position with so many CPUs and accelerators.
  std::size_t at(std::size_t position, std::size_t cpus, std::size_t accelerators) const {
    return position * width_ + cpus * (problem_.accelerators + std::size_t{1}) + accelerators;
  }

  // All intervals that end there, from short to long; their number.
  std::uint32_t fill(std::uint32_t end) {
    double compute = 0;
    double transfers = 0;
    double cpu = 0;
    double bytes = 0;
    std::uint32_t begin = end;
    while (begin > 0) {
      const std::uint32_t group = order_[--begin];
      const PlacementGroup& g = problem_.groups[group];
      compute += g.on_accelerator ? g.accelerator_time : kInfinity;
      bytes += g.bytes;
      if (bytes > problem_.memory || problem_.accelerators == 0) compute = kInfinity;
      cpu = problem_.cpus > 0 ? cpu + g.cpu_time : kInfinity;
      for (const std::uint32_t tensor : problem_.tensors_of[group]) {
        const GroupTensor& t = problem_.tensors[tensor];
        if (counts_[tensor]++ == 0) transfers += t.cost;
        if (counts_[tensor] == t.groups.size()) transfers -= t.cost;
      }
      if (compute < limit_) relax(begin, end, compute + transfers, true);
      if (cpu < limit_) relax(begin, end, cpu, false);
      if (!(compute < limit_) && !(cpu < limit_)) break;
    }
    for (std::uint32_t k = begin; k < end; ++k) {
      for (const std::uint32_t tensor : problem_.tensors_of[order_[k]]) counts_[tensor] = 0;
    }
    return end - begin;
  }

  void relax(std::uint32_t begin, std::uint32_t end, double load, bool on_accelerator) {
    if (!(load < limit_)) return;
    const std::size_t cpus = on_accelerator || cpus_ == 0 ? 0 : 1;
    const std::size_t accelerators = on_accelerator ? 1 : 0;
    for (std::size_t c = cpus; c <= cpus_; ++c) {
      for (std::size_t a = accelerators; a <= problem_.accelerators; ++a) {
        const double before = best_[at(begin, c - cpus, a - accelerators)];
        const double value = combination_ == Combination::largest ? std::max(before, load) : before + load;
        double& best = best_[at(end, c, a)];
        if (!(value < best)) continue;
        best = value;
        from_[at(end, c, a)] = {begin, on_accelerator};
      }
    }
  }

  GroupDevices devices() const {
    GroupDevices result(problem_.size());
    std::size_t cpus = cpus_;
    std::size_t accelerators = problem_.accelerators;
    for (std::size_t end = order_.size(); end > 0;) {
      const Step step = from_[at(end, cpus, accelerators)];
      if (step.on_accelerator) {
        --accelerators;
      } else if (cpus > 0) {
        --cpus;
      }
      const auto device = static_cast<std::uint32_t>(step.on_accelerator ? accelerators : problem_.accelerators + cpus);
      for (std::size_t k = step.begin; k < end; ++k) result[order_[k]] = device;
      end = step.begin;
    }
    return result;
  }

  const PlacementProblem& problem_;
  std::span<const std::uint32_t> order_;
  double limit_;
  Combination combination_;
  std::size_t cpus_;  // CPUs that are counted
  std::size_t width_;
  std::vector<std::uint32_t> counts_;  // of each tensor: its groups in the interval
  std::vector<double> best_;
  std::vector<Step> from_;
};

}  // namespace

std::vector<std::uint32_t> random_order(const Adjacency& successors, RandomNumbers& random) {
  std::vector<std::uint32_t> missing(successors.size(), 0);
  for (const std::uint32_t target : successors.targets) ++missing[target];
  std::vector<std::uint32_t> ready;
  for (std::uint32_t k = 0; k < successors.size(); ++k) {
    if (missing[k] == 0) ready.push_back(k);
  }
  random.shuffle(std::span(ready));
  std::vector<std::uint32_t> order;
  while (!ready.empty()) {
    const std::uint32_t vertex = ready.back();
    ready.pop_back();
    order.push_back(vertex);
    const std::size_t before = ready.size();
    for (const std::uint32_t next : successors[vertex]) {
      if (--missing[next] == 0) ready.push_back(next);
    }
    random.shuffle(std::span(ready).subspan(before));
  }
  return order;
}

std::optional<IntervalPlacement> best_intervals(const PlacementProblem& problem, std::span<const std::uint32_t> order, double limit,
                                                SearchBudget& budget) {
  return IntervalProgram(problem, order, limit, Combination::largest).run(budget);
}

std::optional<IntervalPlacement> best_interval_sum(const PlacementProblem& problem, std::span<const std::uint32_t> order,
                                                   SearchBudget& budget) {
  return IntervalProgram(problem, order, kInfinity, Combination::sum).run(budget);
}

std::optional<GroupDevices> even_intervals(const PlacementProblem& problem, std::span<const std::uint32_t> order) {
  GroupDevices devices(problem.size());
  // Whether accelerators that are closed at the target hold all groups that they can.
  const auto fill = [&](double target) {
    std::uint32_t device = 0;
    double work = 0;
    double bytes = 0;
    bool needs_cpu = false;
    for (const std::uint32_t group : order) {
      const PlacementGroup& g = problem.groups[group];
      if (!g.on_accelerator) {
        devices[group] = problem.accelerators;
        needs_cpu = true;
        continue;
      }
      if (work + g.accelerator_time > target || bytes + g.bytes > problem.memory) {
        ++device;
        work = 0;
        bytes = 0;
      }
      devices[group] = std::min(device, problem.accelerators);
      work += g.accelerator_time;
      bytes += g.bytes;
    }
    return std::pair(device < problem.accelerators, !needs_cpu || problem.cpus > 0);
  };
  constexpr int kHalvings = 40;
  double high = 0;
  double low = 0;
  for (const PlacementGroup& group : problem.groups) high += group.on_accelerator ? group.accelerator_time : 0;
  for (int k = 0; k < kHalvings; ++k) (fill((low + high) / 2).first ? high : low) = (low + high) / 2;
  const auto [holds_all, has_cpu] = fill(high);
  // What is left is on the device behind the last accelerator, which is the first CPU if there is one.
  if (!has_cpu || (!holds_all && problem.cpus == 0)) return std::nullopt;
  return devices;
}

}  // namespace xflow::parallel
