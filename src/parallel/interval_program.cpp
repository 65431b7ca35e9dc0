#include "src/parallel/interval_program.h"

#include <algorithm>
#include <limits>

namespace xflow::parallel {
namespace {

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

  std::optional<IntervalPlacement> run() {
    best_.assign((order_.size() + 1) * width_, kInfinity);
    from_.assign(best_.size(), {});
    std::fill_n(best_.begin(), width_, 0.0);
    for (std::uint32_t end = 1; end <= order_.size(); ++end) fill(end);
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

  // All intervals that end there, from short to long.
  void fill(std::uint32_t end) {
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

std::optional<IntervalPlacement> best_intervals(const PlacementProblem& problem, std::span<const std::uint32_t> order, double limit) {
  return IntervalProgram(problem, order, limit, Combination::largest).run();
}

std::optional<IntervalPlacement> best_interval_sum(const PlacementProblem& problem, std::span<const std::uint32_t> order, double limit) {
  return IntervalProgram(problem, order, limit, Combination::sum).run();
}

}  // namespace xflow::parallel
