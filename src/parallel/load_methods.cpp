#include "src/parallel/load_methods.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "src/parallel/ideal_program.h"
#include "src/parallel/interval_program.h"
#include "src/parallel/placement_program.h"
#include "src/parallel/price_bound.h"

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
// Steps of the local search before the first round of prices, and of this round; both double.
constexpr std::uint64_t kFirstRound = 12'000'000;
constexpr std::uint64_t kFirstPrices = 12'000'000;
// Groups and tensors for prices, and columns of the program of placements: what `automatic` may have, and
// the method `milp`.
constexpr double kPriced = 1.0005;  // prices do not close a smaller gap
constexpr std::size_t kMostPriced = 5'000;
constexpr std::size_t kFewColumns = 500;
constexpr std::uint64_t kFewProgramSteps = 2'000'000;
constexpr std::size_t kMostColumns = 200'000;

class LoadMethods {
 public:
  LoadMethods(const PlacementProblem& problem, std::uint64_t seed, SearchBudget& budget, const IntegerSolver* solver)
      : problem_(problem), contiguous_(contiguous_problem(problem)), random_(seed), budget_(budget), solver_(solver) {
    if (solver != nullptr && problem.accelerators > 0 && problem.size() + problem.tensors.size() <= kMostPriced)
      prices_.emplace(problem, *solver);
  }

  // From a placement, without other starts.
  FoundPlacement improve(const PlacementStart& start, PlacementMethod method) {
    found_.best.value = kInfinity;
    offer(start.devices, PlacementMethod::policy);
    found_.bound = quick_load_bound(problem_);
    if (method == PlacementMethod::local) search(kFirstProposals);
    raise_bound();
    if (method == PlacementMethod::local) search(std::numeric_limits<std::uint64_t>::max());
    const auto stop = method == PlacementMethod::local ? budget_.stop() : start.stop;
    found_.stop = is_optimal() ? PlacementStop::optimal : stop.value_or(PlacementStop::finished);
    return found_;
  }

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
    if (method == PlacementMethod::automatic) search_and_prove();
    if (method == PlacementMethod::milp) prove();
    if (method == PlacementMethod::local) search(std::numeric_limits<std::uint64_t>::max());
    found_.stop = is_optimal() ? PlacementStop::optimal : budget_.stop().value_or(PlacementStop::finished);
    return found_;
  }

 private:
  static bool may_search(PlacementMethod method) {
    return method == PlacementMethod::automatic || method == PlacementMethod::local || method == PlacementMethod::milp;
  }
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

  bool is_done() const { return is_optimal() || is_proved_ || budget_.stop().has_value(); }

  // Rounds of the local search and of prices, and in the first one the whole program if it is small.
  void search_and_prove() {
    for (std::uint64_t round = 1; prices_ && !is_done(); round *= 2) {
      search(round * kFirstRound);
      raise_by_prices(round * kFirstPrices);
      if (round == 1 && program_columns(problem_) <= kFewColumns) solve_whole(kFewProgramSteps);
      if (found_.best.value <= found_.bound.value * kPriced) break;
    }
    if (!is_proved_) search(std::numeric_limits<std::uint64_t>::max());
  }
  // Rounds of prices and of the whole program, which begins again with twice the steps.
  void prove() {
    search(kFirstRound);
    for (std::uint64_t steps = kFirstPrices; !is_done(); steps *= 2) {
      raise_by_prices(steps);
      solve_whole(steps);
    }
  }
  void raise_by_prices(std::uint64_t steps) {
    if (!prices_ || is_done()) return;
    SearchBudget part = budget_.part(steps);
    found_.bound.raise(prices_->raise(found_.bound.value, found_.best.value, part), PlacementBound::prices);
    budget_.take_back(part);
  }
  void solve_whole(std::uint64_t steps) {
    if (is_done()) return;
    SearchBudget part = budget_.part(steps);
    const SolvedPlacement solved = solve_placement(problem_, *solver_, found_.bound.value, found_.best, part);
    budget_.take_back(part);
    if (solved.devices && DeviceLoads(problem_, *solved.devices).is_valid()) offer(*solved.devices, PlacementMethod::milp);
    found_.bound.raise(solved.bound, PlacementBound::milp);
    is_proved_ = solved.complete;
  }

  const PlacementProblem& problem_;
  ContiguousProblem contiguous_;
  RandomNumbers random_;
  SearchBudget& budget_;
  FoundPlacement found_;
  double best_contiguous_ = kInfinity;
  const IntegerSolver* solver_;
  std::optional<PriceBound> prices_;
  bool is_proved_ = false;  // that no placement is better
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

Result<FoundPlacement> place_for_load(const PlacementProblem& problem, PlacementMethod method, std::uint64_t seed, SearchBudget& budget,
                                      const PlacementStart* start, const Result<const IntegerSolver*>& solver) {
  if (start != nullptr) return LoadMethods(problem, seed, budget, nullptr).improve(*start, method);
  if (method == PlacementMethod::milp) {
    if (!solver) return fail(solver.error().code, fmt::format("the method milp needs COIN-OR Cbc: {}", solver.error().message));
    if (const std::size_t columns = program_columns(problem); columns > kMostColumns) {
      return fail(ErrorCode::unsupported, fmt::format("the program of the method milp would have {} columns, and {} are the most; use the "
                                                      "method auto",
                                                      columns, kMostColumns));
    }
  }
  const bool may_use = method == PlacementMethod::milp || method == PlacementMethod::automatic;
  return LoadMethods(problem, seed, budget, may_use && solver ? *solver : nullptr).run(method);
}

}  // namespace xflow::parallel
