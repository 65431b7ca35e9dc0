#include "src/parallel/latency_methods.h"

#include <algorithm>
#include <limits>

#include "src/parallel/evaluate.h"
#include "src/parallel/interval_program.h"
#include "src/parallel/latency_clock.h"
#include "src/parallel/latency_search.h"

namespace xflow::parallel {
namespace {

constexpr int kFilledOrders = 48;
constexpr std::uint64_t kFewSums = 10'000'000;  // intervals of all of them
// Pairs of a device and a group up to which the list method is tried with the others: it times each pair.
constexpr std::uint64_t kMostListTrials = 20'000;

class LatencyMethods {
 public:
  LatencyMethods(const PlacementInstance& instance, std::span<const std::uint32_t> group_of_node, const PlacementProblem& problem,
                 std::uint64_t seed, SearchBudget& budget)
      : problem_(problem),
        contiguous_(contiguous_problem(problem)),
        clock_(instance, {group_of_node.begin(), group_of_node.end()}),
        random_(seed),
        budget_(budget) {
    found_.best.value = kInfinity;
    found_.bound = {longest_path(instance), PlacementBound::longest_path};
  }

  // From a placement, without other starts.
  FoundPlacement improve(const PlacementStart& start, PlacementMethod method) {
    offer(start.devices, PlacementMethod::policy);
    if (method == PlacementMethod::local) search();
    const auto stop = method == PlacementMethod::local ? budget_.stop() : start.stop;
    found_.stop = found_.is_optimal() ? PlacementStop::optimal : stop.value_or(PlacementStop::finished);
    return found_;
  }

  Result<FoundPlacement> run(PlacementMethod method) {
    if (method == PlacementMethod::list && problem_.cpus == 0)
      return fail(ErrorCode::unsupported, "the method list needs a CPU; use the method greedy");
    const bool tries_all = method == PlacementMethod::automatic || method == PlacementMethod::local;
    const std::uint64_t trials = std::uint64_t{contiguous_.problem.size()} * problem_.devices();
    if (problem_.cpus > 0) offer(GroupDevices(problem_.size(), problem_.accelerators), method);
    if (tries_all || method == PlacementMethod::greedy) fill_first_order();
    if (tries_all) fill_orders();
    if (method == PlacementMethod::list || (tries_all && trials <= kMostListTrials)) assign_one_by_one();
    if (found_.best.devices.empty()) return fail(ErrorCode::limit, "no placement within the memory of the accelerators was found");
    if (tries_all) search();
    found_.stop = found_.is_optimal() ? PlacementStop::optimal : budget_.stop().value_or(PlacementStop::finished);
    return found_;
  }

 private:
  void offer(const GroupDevices& devices, PlacementMethod method) {
    const double value = clock_.latency(DeviceLoads(problem_, devices));
    if (!(value < found_.best.value)) return;
    found_.best = {value, devices};
    found_.method = method;
  }
  void offer_contiguous(const GroupDevices& of_parts, PlacementMethod method) {
    GroupDevices devices;
    for (const std::uint32_t part : contiguous_.part) devices.push_back(of_parts[part]);
    offer(devices, method);
  }

  void fill_first_order() {
    const PlacementProblem& problem = contiguous_.problem;
    const auto filled = filled_in_order(problem, topological_order(problem.size(), problem.order));
    if (filled) offer_contiguous(*filled, PlacementMethod::greedy);
  }

  void fill_orders() {
    const PlacementProblem& problem = contiguous_.problem;
    const Adjacency successors(problem.size(), problem.order, false);
    SearchBudget part = budget_.part(kFewSums);
    for (int k = 0; k < kFilledOrders && !found_.is_optimal() && part.spend(problem.size()); ++k) {
      const std::vector<std::uint32_t> order = random_order(successors, random_);
      if (const auto filled = filled_in_order(problem, order)) offer_contiguous(*filled, PlacementMethod::greedy);
      if (const auto placement = best_interval_sum(problem, order, part)) offer_contiguous(placement->devices, PlacementMethod::orders);
    }
    budget_.take_back(part);
  }

  // In a topological order, each group goes to the device where the groups so far end first: heterogeneous
  // earliest finish time (Topcuoglu et al. 2002) with the tasks of this objective.
  void assign_one_by_one() {
    const PlacementProblem& problem = contiguous_.problem;
    if (problem_.cpus == 0) return;
    // A group without a device is on the CPU for nothing.
    GroupDevices devices(problem_.size(), problem_.accelerators);
    std::vector<std::vector<std::uint32_t>> members(problem.size());
    for (std::uint32_t group = 0; group < problem_.size(); ++group) members[contiguous_.part[group]].push_back(group);
    DeviceLoads loads(problem_, devices);
    for (const std::uint32_t part : topological_order(problem.size(), problem.order)) {
      if (!budget_.spend(problem.devices())) return;
      double best = kInfinity;
      std::uint32_t best_device = problem_.accelerators;
      for (std::uint32_t device = 0; device < problem_.devices(); ++device) {
        const bool fits = std::ranges::all_of(members[part], [&](std::uint32_t group) {
          const bool has_memory = loads.has_memory_for(group, device);
          loads.move(group, device);
          return has_memory;
        });
        const double latency = fits ? clock_.latency(loads, best) : kInfinity;
        if (latency < best) {
          best = latency;
          best_device = device;
        }
        for (const std::uint32_t group : members[part]) loads.move(group, problem_.accelerators);
      }
      for (const std::uint32_t group : members[part]) loads.move(group, best_device);
    }
    offer(loads.devices(), PlacementMethod::list);
  }

  void search() {
    const double before = found_.best.value;
    search_latency(problem_, clock_, found_.bound.value * kCloseToBound, random_, budget_, found_.best);
    if (found_.best.value < before) found_.method = PlacementMethod::local;
  }

  const PlacementProblem& problem_;
  ContiguousProblem contiguous_;
  LatencyClock clock_;
  RandomNumbers random_;
  SearchBudget& budget_;
  FoundPlacement found_;
};

}  // namespace

std::optional<GroupDevices> filled_in_order(const PlacementProblem& problem, std::span<const std::uint32_t> order) {
  GroupDevices devices(problem.size());
  std::uint32_t accelerator = 0;
  double bytes = 0;
  bool is_used = false;
  for (const std::uint32_t group : order) {
    const PlacementGroup& g = problem.groups[group];
    if (g.on_accelerator && bytes + g.bytes > problem.memory) {
      ++accelerator;
      bytes = 0;
      is_used = false;
    }
    if (!g.on_accelerator || accelerator >= problem.accelerators) {
      if (problem.cpus == 0) return std::nullopt;
      devices[group] = problem.accelerators;
      // What follows on an accelerator may depend on the CPU, which depends on what came before.
      if (is_used) ++accelerator;
      bytes = 0;
      is_used = false;
      continue;
    }
    devices[group] = accelerator;
    bytes += g.bytes;
    is_used = true;
  }
  return devices;
}

Result<FoundPlacement> place_for_latency(const PlacementInstance& instance, std::span<const std::uint32_t> group_of_node,
                                         const PlacementProblem& problem, PlacementMethod method, std::uint64_t seed, SearchBudget& budget,
                                         const PlacementStart* start) {
  LatencyMethods methods(instance, group_of_node, problem, seed, budget);
  if (start != nullptr) return methods.improve(*start, method);
  return methods.run(method);
}

}  // namespace xflow::parallel
