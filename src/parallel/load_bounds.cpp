#include "src/parallel/load_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

namespace xflow::parallel {
namespace {

// Rounding must not lift a bound above what it proves.
constexpr double kSafeBound = 1 - 1e-12;

// Work that CPUs and accelerators can share at will.
class SharedWork {
 public:
  explicit SharedWork(std::vector<PlacementGroup> groups) {
    // A group without work has no ratio.
    std::erase_if(groups, [](const PlacementGroup& group) { return group.cpu_time == 0 && group.accelerator_time == 0; });
    std::stable_sort(groups.begin(), groups.end(), [](const PlacementGroup& a, const PlacementGroup& b) {
      // By accelerator time per CPU time, descending; groups for CPUs alone first.
      if (!a.on_accelerator || !b.on_accelerator) return !a.on_accelerator && b.on_accelerator;
      return a.accelerator_time * b.cpu_time > b.accelerator_time * a.cpu_time;
    });
    cpu_ = {0};
    accelerator_ = {0};
    for (const PlacementGroup& group : groups) {
      if (!group.on_accelerator) forced_ += group.cpu_time;
      cpu_.push_back(cpu_.back() + group.cpu_time);
      accelerator_.push_back(accelerator_.back() + (group.on_accelerator ? group.accelerator_time : 0));
    }
  }

  // Whether so much time of CPUs and of accelerators is enough.
  bool fits(double cpu, double accelerator) const {
    if (cpu < forced_ || accelerator < 0) return false;
    const auto after = static_cast<std::size_t>(std::upper_bound(cpu_.begin(), cpu_.end(), cpu) - cpu_.begin());
    if (after == cpu_.size()) return true;
    const double share = (cpu - cpu_[after - 1]) / (cpu_[after] - cpu_[after - 1]);
    const double taken = accelerator_[after - 1] + share * (accelerator_[after] - accelerator_[after - 1]);
    return accelerator_.back() - taken <= accelerator;
  }
  double all() const { return cpu_.back() + accelerator_.back(); }

 private:
  std::vector<double> cpu_;  // sums of the first groups
  std::vector<double> accelerator_;
  double forced_ = 0;  // CPU time of groups that no accelerator can hold
};

constexpr std::size_t kMostHeavy = 40;
constexpr std::size_t kMostStates = 20'000;      // of one question
constexpr std::size_t kMostAllStates = 200'000;  // of all
constexpr double kResolution = 1e-7;             // of times, as a share of the upper bound
constexpr double kBoundPrecision = 1e-5;         // of the bound

// Whether heavy groups can be distributed as wholes. Times are whole multiples of a unit, rounded down.
class Packing {
 public:
  // Groups whose times differ by less than `tolerance` count as their smallest.
  Packing(const PlacementProblem& problem, double tolerance, double unit) : accelerators_(problem.accelerators), cpus_(problem.cpus) {
    std::vector<PlacementGroup> groups = problem.groups;
    std::stable_sort(groups.begin(), groups.end(),
                     [](const PlacementGroup& a, const PlacementGroup& b) { return a.accelerator_time > b.accelerator_time; });
    for (PlacementGroup& group : groups) {
      group.cpu_time = std::floor(group.cpu_time / unit);
      group.accelerator_time = std::floor(group.accelerator_time / unit);
    }
    heavy_.assign(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(std::min(kMostHeavy, groups.size())));
    for (std::size_t begin = 0; begin < heavy_.size();) {
      std::size_t end = begin;
      while (end < heavy_.size() && is_similar(heavy_[begin], heavy_[end], tolerance)) ++end;
      level(begin, end);
      begin = end;
    }
    // rest_[k]: everything but the first k heavy groups.
    std::vector<PlacementGroup> rest(groups.begin() + static_cast<std::ptrdiff_t>(heavy_.size()), groups.end());
    for (std::size_t k = heavy_.size() + 1; k-- > 0;) {
      rest_.emplace_back(rest);
      if (k > 0) rest.push_back(heavy_[k - 1]);
    }
    std::reverse(rest_.begin(), rest_.end());
  }

  // False only if no distribution ends by `limit`, in units. `states` is what the question may cost; it is
  // reduced by what it did.
  bool may_fit(double limit, std::size_t& states) {
    limit_ = limit;
    states_ = &states;
    seen_.assign(heavy_.size() + 1, {});
    return fit(0, Loads(accelerators_ + cpus_, 0));
  }

 private:
  // Loads of accelerators, then of CPUs; each part ascending, so that equal devices give one state.
  using Loads = std::vector<double>;
  struct LoadsHash {
    std::size_t operator()(const Loads& loads) const {
      std::uint64_t hash = 0;
      for (const double load : loads) {
        hash = (hash ^ static_cast<std::uint64_t>(load)) * 0x9e3779b97f4a7c15U;
        hash ^= hash >> 32U;
      }
      return hash;
    }
  };

  static bool is_similar(const PlacementGroup& a, const PlacementGroup& b, double tolerance) {
    const auto are_close = [&](double x, double y) { return std::abs(x - y) <= tolerance * x; };
    return a.on_accelerator == b.on_accelerator && are_close(a.accelerator_time, b.accelerator_time) && are_close(a.cpu_time, b.cpu_time);
  }
  // Gives the groups the smallest of their times.
  void level(std::size_t begin, std::size_t end) {
    PlacementGroup smallest = heavy_[begin];
    for (std::size_t k = begin; k < end; ++k) {
      smallest.cpu_time = std::min(smallest.cpu_time, heavy_[k].cpu_time);
      smallest.accelerator_time = std::min(smallest.accelerator_time, heavy_[k].accelerator_time);
    }
    std::fill(heavy_.begin() + static_cast<std::ptrdiff_t>(begin), heavy_.begin() + static_cast<std::ptrdiff_t>(end), smallest);
  }

  bool fit(std::size_t placed, const Loads& loads) {
    double accelerators = 0;
    double cpus = 0;
    for (std::size_t k = 0; k < loads.size(); ++k) (k < accelerators_ ? accelerators : cpus) += limit_ - loads[k];
    if (!rest_[placed].fits(cpus, accelerators)) return false;
    if (placed == heavy_.size()) return true;
    if (seen_[placed].contains(loads)) return false;
    if (*states_ == 0) return true;
    --*states_;
    const PlacementGroup& group = heavy_[placed];
    // Fuller devices first; devices with the same load are the same.
    for (std::size_t k = loads.size(); k-- > 0;) {
      const bool on_accelerator = k < accelerators_;
      if (on_accelerator && !group.on_accelerator) continue;
      if (k + 1 < loads.size() && (k + 1 < accelerators_) == on_accelerator && loads[k + 1] == loads[k]) continue;
      const double load = loads[k] + (on_accelerator ? group.accelerator_time : group.cpu_time);
      if (load > limit_) continue;
      Loads next = loads;
      next[k] = load;
      const std::size_t end = on_accelerator ? accelerators_ : loads.size();
      for (std::size_t at = k; at + 1 < end && next[at] > next[at + 1]; ++at) std::swap(next[at], next[at + 1]);
      if (fit(placed + 1, next)) return true;
    }
    seen_[placed].insert(loads);
    return false;
  }

  std::size_t accelerators_;
  std::size_t cpus_;
  std::vector<PlacementGroup> heavy_;
  std::vector<SharedWork> rest_;
  double limit_ = 0;
  std::size_t* states_ = nullptr;
  std::vector<std::unordered_set<Loads, LoadsHash>> seen_;  // states that do not fit, by number of placed groups
};

}  // namespace

double group_bound(const PlacementProblem& problem) {
  double bound = 0;
  for (const PlacementGroup& group : problem.groups) {
    const double accelerator = group.on_accelerator ? group.accelerator_time : kInfinity;
    const double cpu = problem.cpus > 0 ? group.cpu_time : kInfinity;
    bound = std::max(bound, std::min(accelerator, cpu));
  }
  return bound;
}

double work_bound(const PlacementProblem& problem) {
  const SharedWork work(problem.groups);
  double lower = 0;
  double upper = work.all();
  constexpr int kHalvings = 100;
  for (int k = 0; k < kHalvings && lower < upper; ++k) {
    const double middle = lower + (upper - lower) / 2;
    if (work.fits(middle * problem.cpus, middle * problem.accelerators)) {
      upper = middle;
    } else {
      lower = middle;
    }
  }
  return lower * kSafeBound;
}

double packing_bound(const PlacementProblem& problem, double lower, double upper) {
  constexpr std::uint32_t kMostPackedDevices = 64;
  if (!(lower < upper) || problem.devices() > kMostPackedDevices) return lower;
  const double unit = upper * kResolution;
  std::size_t all_states = kMostAllStates;
  for (const double tolerance : {0.02, 0.005, 0.001, 0.0}) {
    Packing packing(problem, tolerance, unit);
    double high = upper;
    // A first question near the upper bound often closes the gap.
    double asked = upper * (1 - kBoundPrecision);
    while (high - lower > upper * kBoundPrecision && all_states > 0) {
      const std::size_t before = std::min(kMostStates, all_states);
      std::size_t states = before;
      if (packing.may_fit(std::floor(asked / unit), states)) {
        high = asked;
      } else {
        lower = std::max(lower, asked * kSafeBound);
      }
      all_states -= before - states;
      asked = (lower + high) / 2;
    }
  }
  return lower;
}

LowerBound quick_load_bound(const PlacementProblem& problem) {
  LowerBound bound{group_bound(problem), PlacementBound::group};
  bound.raise(work_bound(problem), PlacementBound::work);
  return bound;
}

LowerBound load_bound(const PlacementProblem& problem, double max_load, SearchBudget& budget) {
  LowerBound bound = quick_load_bound(problem);
  if (bound.value < max_load) bound.raise(packing_bound(problem, bound.value, max_load), PlacementBound::packing);
  if (bound.value < max_load) bound.raise(star_bound(problem, bound.value, budget), PlacementBound::star);
  // Sums in another order differ in their last digits.
  bound.value = std::min(bound.value, max_load);
  return bound;
}

}  // namespace xflow::parallel
