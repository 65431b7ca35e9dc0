#include "src/parallel/load_methods.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "src/parallel/ideal_program.h"
#include "src/parallel/interval_program.h"

namespace xflow::parallel {
namespace {

constexpr int kFirstOrders = 24;
// Intervals and vertices of cuts that other methods than those of their name may visit: much less on small
// graphs, but large graphs leave the time to the local search.
constexpr std::uint64_t kFewIntervals = 10'000'000;
constexpr std::uint64_t kFewVertices = 5'000'000;
constexpr std::uint64_t kFirstProposals = 50'000;
// Ideals and pairs of them that `automatic` may visit, and ideals that the method `ideals` may hold.
constexpr std::size_t kFewIdeals = 20'000;
constexpr std::uint64_t kFewPairs = 5'000'000;
constexpr std::size_t kMostIdeals = 1'000'000;

class LoadMethods {
 public:
  LoadMethods(const PlacementProblem& problem, std::uint64_t seed, SearchBudget& budget)
      : problem_(problem), contiguous_(contiguous_problem(problem)), random_(seed), budget_(budget) {}

  Result<FoundPlacement> run(PlacementMethod method) {
    found_.best.value = kInfinity;
    if (const auto simple = simple_placement(problem_)) offer(*simple, method);
    found_.bound = quick_load_bound(problem_);
    const bool only_orders = method == PlacementMethod::orders;
    try_orders(only_orders ? std::numeric_limits<int>::max() : kFirstOrders, only_orders ? UINT64_MAX : kFewIntervals);
    if (method == PlacementMethod::ideals) XFLOW_CHECK(try_ideals());
    if (method == PlacementMethod::automatic) try_few_ideals();
    if (found_.best.devices.empty()) return fail(ErrorCode::limit, "no placement within the memory of the accelerators was found");
    if (may_search(method)) search(kFirstProposals);
    raise_bound();
    if (may_search(method)) search(std::numeric_limits<std::uint64_t>::max());
    found_.stop = is_optimal() ? PlacementStop::optimal : budget_.stop().value_or(PlacementStop::finished);
    return found_;
  }

 private:
  static bool may_search(PlacementMethod method) { return method == PlacementMethod::automatic || method == PlacementMethod::local; }
  bool is_optimal() const { return found_.is_optimal(); }

  void offer(const GroupDevices& devices, PlacementMethod method) {
    const double value = DeviceLoads(problem_, devices).max_load();
    if (!(value < found_.best.value)) return;
    found_.best = {value, devices};
    found_.method = method;
  }
  void offer_contiguous(const IntervalPlacement& placement, PlacementMethod method) {
    best_contiguous_ = std::min(best_contiguous_, placement.value);
    GroupDevices devices;
    for (const std::uint32_t part : contiguous_.part) devices.push_back(placement.devices[part]);
    offer(devices, method);
  }

  void try_orders(int orders, std::uint64_t intervals) {
    const PlacementProblem& problem = contiguous_.problem;
    const Adjacency successors(problem.size(), problem.order, false);
    // A start that even a spent budget leaves time for.
    offer_even(topological_order(problem.size(), problem.order));
    SearchBudget part = budget_.part(intervals);
    for (int k = 0; k < orders && !is_optimal() && part.spend(problem.size()); ++k) {
      const std::vector<std::uint32_t> order = random_order(successors, random_);
      if (const auto placement = best_intervals(problem, order, best_contiguous_, part))
        offer_contiguous(*placement, PlacementMethod::orders);
    }
    budget_.take_back(part);
  }
  void offer_even(const std::vector<std::uint32_t>& order) {
    const auto devices = even_intervals(contiguous_.problem, order);
    if (devices) offer_contiguous({kInfinity, *devices}, PlacementMethod::orders);
  }

  // Takes the result of the dynamic program over ideals.
  void take(const IdealResult& result) {
    if (result.end != IdealEnd::complete) return;
    if (result.found) offer_contiguous(*result.found, PlacementMethod::ideals);
    if (best_contiguous_ < kInfinity) found_.contiguous = best_contiguous_;
  }
  Result<void> try_ideals() {
    const IdealResult result = best_ideals(contiguous_.problem, best_contiguous_, kMostIdeals, budget_);
    if (result.end == IdealEnd::too_many)
      return fail(ErrorCode::unsupported, fmt::format("the graph has more than {} ideals; use the method orders", kMostIdeals));
    take(result);
    return {};
  }
  // With limits of its own, which do not depend on the budget.
  void try_few_ideals() {
    if (is_optimal() || budget_.stop()) return;
    SearchBudget few = budget_.part(kFewPairs);
    take(best_ideals(contiguous_.problem, best_contiguous_, kFewIdeals, few));
    budget_.take_back(few);
  }

  void search(std::uint64_t proposals) {
    if (is_optimal()) return;
    SearchBudget part = budget_.part(proposals);
    const double before = found_.best.value;
    search_loads(problem_, found_.bound.value * kCloseToBound, random_, part, found_.best);
    if (found_.best.value < before) found_.method = PlacementMethod::local;
    budget_.take_back(part);
  }

  void raise_bound() {
    if (is_optimal()) return;
    SearchBudget few = budget_.part(kFewVertices);
    found_.bound = load_bound(problem_, found_.best.value, few);
    budget_.take_back(few);
  }

  const PlacementProblem& problem_;
  ContiguousProblem contiguous_;
  RandomNumbers random_;
  SearchBudget& budget_;
  FoundPlacement found_;
  double best_contiguous_ = kInfinity;
};

}  // namespace

std::optional<GroupDevices> simple_placement(const PlacementProblem& problem) {
  if (problem.cpus > 0) return GroupDevices(problem.size(), problem.accelerators);
  std::vector<std::uint32_t> order(problem.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return problem.groups[a].bytes > problem.groups[b].bytes; });
  GroupDevices devices(problem.size());
  std::vector<double> bytes(problem.accelerators, 0);
  for (const std::uint32_t group : order) {
    std::uint32_t device = 0;
    while (device < problem.accelerators && bytes[device] + problem.groups[group].bytes > problem.memory) ++device;
    if (device == problem.accelerators) return std::nullopt;
    bytes[device] += problem.groups[group].bytes;
    devices[group] = device;
  }
  return devices;
}

Result<FoundPlacement> place_for_load(const PlacementProblem& problem, PlacementMethod method, std::uint64_t seed, SearchBudget& budget) {
  return LoadMethods(problem, seed, budget).run(method);
}

}  // namespace xflow::parallel
