#include "src/parallel/price_bound.h"

#include <algorithm>
#include <numeric>

#include "src/parallel/device_loads.h"
#include "src/parallel/load_search.h"
#include "src/parallel/placement_program.h"

namespace xflow::parallel {
namespace {

constexpr double kPrecision = 0.0005;  // of the bound
// Prices exclude known sets by this share of what an accelerator has to hold.
constexpr double kExcluded = 0.002;
constexpr double kNearly = 1 + 1e-6;      // times of sets that a solver finds
constexpr double kSafe = 1 - 1e-6;        // of a time that is too small
constexpr double kFoundShare = 1 - 1e-4;  // of the price, of sets that a solver finds
constexpr std::uint64_t kProposals = 300'000;

double sum_of(std::span<const double> prices) { return std::accumulate(prices.begin(), prices.end(), 0.0); }

// Numbers of groups after those are merged whose tensors cost more than `most`.
std::vector<std::uint32_t> undivided(const PlacementProblem& problem, double most) {
  std::vector<PlacementEdge> both_ways;
  for (const GroupTensor& tensor : problem.tensors) {
    if (tensor.cost <= most) continue;
    for (const std::uint32_t group : tensor.groups) {
      both_ways.push_back({tensor.groups[0], group});
      both_ways.push_back({group, tensor.groups[0]});
    }
  }
  return components(problem.size(), both_ways);
}

bool fits_accelerator(const PlacementGroup& group, double time) { return group.on_accelerator && group.accelerator_time <= time; }

}  // namespace

// Are there groups of an accelerator within `time` whose price is at least `share`? Groups that such a set
// has either all or not at all are one.
struct PriceBound::Question {
  PlacementProblem problem;
  std::vector<std::uint32_t> part;  // of each group: its group in the problem
  std::vector<double> prices;       // of groups of the problem
  double share = 0;
  double time = 0;

  IntegerProgram program() const {
    IntegerProgram program;
    const DeviceColumns columns = add_accelerator(problem, time, priorities_of(prices), program);
    for (std::size_t k = 0; k < prices.size(); ++k) program.columns[columns.of_group[k]].cost = -prices[k] / share;
    program.rows.push_back(load_row(problem, columns, time));
    program.rows.back().upper = 1;
    program.cutoff = program_margin(program.columns.size()) - 1;
    program.first_solution = true;
    return program;
  }
  // The same question as a placement on one accelerator and one CPU, whose load is the price of the other
  // groups.
  PlacementProblem divided() const {
    PlacementProblem result = problem;
    result.accelerators = 1;
    result.cpus = 1;
    const double others = sum_of(prices) - share;
    for (std::size_t k = 0; k < prices.size(); ++k) result.groups[k].cpu_time = prices[k] * time / others;
    return result;
  }
};

double PriceBound::raise(double lower, double upper, SearchBudget& budget) {
  // The first question may close the gap.
  if (known_.empty() && ask(upper, budget) == Answer::too_small) return upper * kSafe;
  while (!budget.stop()) {
    double high = std::min(upper, unanswered_);
    if (high - lower <= upper * kPrecision) {
      unanswered_ = kInfinity;
      high = std::min(upper, unprovable_);
      if (high - lower <= upper * kPrecision) break;
      steps_ *= 4;
    }
    const double asked = (lower + high) / 2;
    switch (ask(asked, budget)) {
      case Answer::too_small:
        lower = asked * kSafe;
        break;
      case Answer::unprovable:
        unprovable_ = std::min(unprovable_, asked);
        unanswered_ = asked;
        break;
      case Answer::unknown:
        unanswered_ = asked;
        break;
    }
  }
  return lower;
}

PriceBound::Answer PriceBound::ask(double time, SearchBudget& budget) {
  SearchBudget part = budget.part(steps_);
  const Answer answer = ask_until(time, part);
  budget.take_back(part);
  return answer;
}

PriceBound::Answer PriceBound::ask_until(double time, SearchBudget& budget) {
  while (!budget.stop()) {
    const std::vector<double> prices = prices_for(time, budget);
    const double share = prices.empty() ? 0 : share_of(prices, time);
    if (!(share > 0)) return budget.stop() ? Answer::unknown : Answer::unprovable;
    const Question question = question_of(prices, share, time);
    if (std::optional<KnownSet> set = search(question, budget)) {
      known_.push_back(*std::move(set));
      continue;
    }
    const IntegerResult result = solver_.solve(question.program(), [&](std::uint64_t steps) { return budget.spend(steps); });
    if (result.solution.empty()) return result.complete ? Answer::too_small : Answer::unknown;
    KnownSet set = set_of(question, [&](std::uint32_t group) { return result.solution[group] > 0.5; });
    double price = 0;
    for (const std::uint32_t group : set.groups) price += prices[group];
    if (set.load > time * kNearly || price < share * kFoundShare) return Answer::unknown;
    known_.push_back(std::move(set));
  }
  return Answer::unknown;
}

// Of the CPUs, after the groups that no accelerator holds within `time`.
double PriceBound::cpu_time_left(double time) const {
  double left = problem_.cpus * time;
  for (const PlacementGroup& group : problem_.groups) left -= fits_accelerator(group, time) ? 0 : group.cpu_time;
  return std::max(left, 0.0);
}

// Groups that are always on CPUs, or there for free, have no price.
std::vector<double> PriceBound::first_prices(double time) const {
  std::vector<double> prices;
  for (const PlacementGroup& group : problem_.groups) {
    const bool has_price = fits_accelerator(group, time) && !(fits_cpu(group, time) && group.cpu_time == 0);
    prices.push_back(has_price ? group.accelerator_time / time : 0);
  }
  return prices;
}

// What an accelerator has to hold. CPUs hold at most the largest ratio of a price to the time on a CPU,
// times their time.
double PriceBound::share_of(std::span<const double> prices, double time) const {
  double ratio = 0;
  for (std::size_t k = 0; k < prices.size(); ++k) {
    const PlacementGroup& group = problem_.groups[k];
    if (prices[k] > 0 && fits_cpu(group, time)) ratio = std::max(ratio, prices[k] / group.cpu_time);
  }
  return (sum_of(prices) - ratio * cpu_time_left(time)) / problem_.accelerators;
}

// The linear program of prices. Its columns are the prices, the ratio of share_of(), and the largest
// difference to the first prices, as a share of them, which is made small. Empty if there are no such
// prices.
std::vector<double> PriceBound::prices_for(double time, SearchBudget& budget) const {
  std::vector<double> first = first_prices(time);
  const auto is_within = [&](const KnownSet& set) { return set.load <= time * kNearly; };
  if (std::ranges::none_of(known_, is_within)) return first;
  IntegerProgram program;
  for (const double price : first) program.columns.push_back({.upper = 2 * price});
  const auto ratio = static_cast<std::uint32_t>(first.size());
  const std::uint32_t difference = ratio + 1;
  program.columns.push_back({.upper = kInfinity});
  program.columns.push_back({.cost = 1, .upper = 1});
  for (std::uint32_t k = 0; k < first.size(); ++k) {
    if (first[k] == 0) continue;
    program.rows.push_back({.entries = {{k, 1}, {difference, -first[k]}}, .upper = first[k]});
    program.rows.push_back({.entries = {{k, 1}, {difference, first[k]}}, .lower = first[k]});
    if (!fits_cpu(problem_.groups[k], time)) continue;
    program.rows.push_back({.entries = {{k, 1}, {ratio, -problem_.groups[k].cpu_time / time}}, .upper = 0});
  }
  const double cpus = cpu_time_left(time) / time;
  for (const KnownSet& set : known_) {
    if (!is_within(set)) continue;
    // accelerators * price of the set <= (price of all - ratio * cpus) * (1 - kExcluded)
    std::vector<double> factors(first.size(), kExcluded - 1);
    for (const std::uint32_t group : set.groups) factors[group] += problem_.accelerators;
    ProgramRow row{.upper = 0};
    for (std::uint32_t k = 0; k < first.size(); ++k) row.entries.push_back({k, factors[k]});
    row.entries.push_back({ratio, cpus * (1 - kExcluded)});
    program.rows.push_back(std::move(row));
  }
  IntegerResult result = solver_.solve(program, [&](std::uint64_t steps) { return budget.spend(steps); });
  if (result.solution.empty()) return {};
  result.solution.resize(first.size());
  // Prices below 0 would prove nothing.
  for (double& price : result.solution) price = std::max(price, 0.0);
  return result.solution;
}

PriceBound::Question PriceBound::question_of(std::span<const double> prices, double share, double time) const {
  Question question{problem_, {}, {prices.begin(), prices.end()}, share, time};
  question.part.resize(problem_.size());
  std::iota(question.part.begin(), question.part.end(), 0U);
  const double most = most_transfers(prices, share, time) + time * (kNearly - 1);
  for (;;) {
    const std::vector<std::uint32_t> part = undivided(question.problem, most);
    const std::uint32_t parts = *std::max_element(part.begin(), part.end()) + 1;
    if (parts == question.problem.size()) return question;
    std::vector<double> merged(parts, 0);
    for (std::size_t k = 0; k < part.size(); ++k) merged[part[k]] += question.prices[k];
    question.prices = std::move(merged);
    question.problem = merge(question.problem, part, parts);
    for (std::uint32_t& group : question.part) group = part[group];
  }
}

// What is left for transfers in a set of this price: the compute for a price is least for the groups that
// are worth most, divided at will.
double PriceBound::most_transfers(std::span<const double> prices, double share, double time) const {
  std::vector<std::uint32_t> order;
  for (std::uint32_t k = 0; k < prices.size(); ++k) {
    if (prices[k] > 0) order.push_back(k);
  }
  const auto compute = [&](std::uint32_t k) { return problem_.groups[k].accelerator_time; };
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) { return prices[a] * compute(b) > prices[b] * compute(a); });
  for (const std::uint32_t group : order) {
    if (prices[group] >= share) return time - compute(group) * share / prices[group];
    share -= prices[group];
    time -= compute(group);
  }
  return time;
}

// The local search often finds a set quickly.
std::optional<PriceBound::KnownSet> PriceBound::search(const Question& question, SearchBudget& budget) {
  if (!(sum_of(question.prices) > question.share)) return std::nullopt;
  const PlacementProblem divided = question.divided();
  BestPlacement best;
  best.devices.assign(divided.size(), 1);
  best.value = DeviceLoads(divided, best.devices).max_load();
  SearchBudget part = budget.part(kProposals);
  search_loads(divided, question.time, random_, part, best);
  budget.take_back(part);
  if (best.value > question.time) return std::nullopt;
  return set_of(question, [&](std::uint32_t group) { return best.devices[group] == 0; });
}

template <typename IsMember>
PriceBound::KnownSet PriceBound::set_of(const Question& question, const IsMember& decide) const {
  KnownSet set;
  std::vector<bool> is_member(problem_.size());
  for (std::uint32_t k = 0; k < problem_.size(); ++k) {
    is_member[k] = decide(question.part[k]);
    if (!is_member[k]) continue;
    set.groups.push_back(k);
    set.load += problem_.groups[k].accelerator_time;
  }
  for (const GroupTensor& tensor : problem_.tensors) {
    const auto members = std::ranges::count_if(tensor.groups, [&](std::uint32_t group) { return is_member[group]; });
    if (members > 0 && static_cast<std::size_t>(members) < tensor.groups.size()) set.load += tensor.cost;
  }
  return set;
}

}  // namespace xflow::parallel
