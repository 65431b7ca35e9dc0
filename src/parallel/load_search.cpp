#include "src/parallel/load_search.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "src/parallel/proposals.h"

namespace xflow::parallel {
namespace {

constexpr std::uint64_t kShortestRun = 20'000;
constexpr std::uint64_t kLongestRun = 4'000'000;
constexpr std::uint64_t kShortRun = 300'000;  // shorter runs are hot more often
// Temperatures at the beginning of runs and at their end, as shares of the value.
constexpr std::array<double, 4> kHottestShort = {0.02, 0.001, 0.002, 0.02};
constexpr std::array<double, 4> kHottestLong = {0.001, 0.003, 0.001, 0.01};
constexpr double kColdest = 0.00001;
constexpr int kFirstSquarings = 3;  // p is 2 to the power of this, then up to the power of kLastSquarings
constexpr int kLastSquarings = 6;
constexpr std::uint64_t kStepsPerReset = 4096;

// x to the power of 2^squarings.
double powered(double x, int squarings) {
  for (int k = 0; k < squarings; ++k) x *= x;
  return x;
}

class LoadSearch {
 public:
  LoadSearch(const PlacementProblem& problem, double bound, RandomNumbers& random, SearchBudget& budget, BestPlacement& best)
      : problem_(problem),
        bound_(bound),
        random_(random),
        budget_(budget),
        best_(best),
        loads_(problem, best.devices),
        proposals_(problem, random) {}

  void run() {
    std::uint64_t length = kShortestRun;
    for (std::uint64_t k = 0; !is_done(); ++k) {
      // Every second run goes on from where the last one ended, which is another place.
      if (k % 2 == 0) loads_.reset(best_.devices);
      anneal(length, (length < kShortRun ? kHottestShort : kHottestLong)[k % kHottestLong.size()]);
      if (k % 2 == 1) length = std::min(2 * length, kLongestRun);
    }
  }

 private:
  bool is_done() const { return budget_.stop().has_value() || best_.value <= bound_; }

  // The sum of the powers of the loads relative to the best value; its root is the p-norm.
  double sum_of_powers() const {
    double sum = 0;
    for (std::uint32_t device = 0; device < problem_.devices(); ++device) sum += powered(loads_.load(device) * unit_, squarings_);
    return sum;
  }
  double root(double sum) const {
    for (int k = 0; k < squarings_; ++k) sum = std::sqrt(sum);
    return sum;
  }

  std::uint32_t busiest() const {
    std::uint32_t result = 0;
    for (std::uint32_t device = 1; device < problem_.devices(); ++device) {
      if (loads_.load(device) > loads_.load(result)) result = device;
    }
    return result;
  }

  void anneal(std::uint64_t length, double hottest) {
    const double cooling = std::pow(kColdest / hottest, 1.0 / static_cast<double>(length));
    double temperature = hottest;
    unit_ = 1 / best_.value;
    for (std::uint64_t step = 0; step < length && !is_done(); ++step, temperature *= cooling) {
      const auto stage = static_cast<int>(step * (kLastSquarings - kFirstSquarings + 1) / length);
      if (step % kStepsPerReset == 0 || stage + kFirstSquarings != squarings_) {
        squarings_ = stage + kFirstSquarings;
        loads_.reset(loads_.devices());
        norm_ = root(sum_of_powers());
        busy_ = busiest();
      }
      if (!budget_.spend()) return;
      if (!proposals_.propose(loads_, busy_)) continue;
      const double sum = sum_of_powers();
      if (sum > powered(norm_ - temperature * std::log(random_.unit()), squarings_)) {
        proposals_.undo(loads_);
        continue;
      }
      norm_ = root(sum);
      busy_ = busiest();
      if (loads_.load(busy_) < best_.value * (1 - 1e-9)) keep();
    }
  }

  void keep() {
    // Of the placement itself, without drift.
    const double value = DeviceLoads(problem_, loads_.devices()).max_load();
    if (!(value < best_.value)) return;
    best_ = {value, loads_.devices()};
  }

  const PlacementProblem& problem_;
  double bound_;
  RandomNumbers& random_;
  SearchBudget& budget_;
  BestPlacement& best_;
  DeviceLoads loads_;
  Proposals proposals_;
  double unit_ = 1;
  double norm_ = 0;
  int squarings_ = -1;
  std::uint32_t busy_ = 0;
};

}  // namespace

void search_loads(const PlacementProblem& problem, double bound, RandomNumbers& random, SearchBudget& budget, BestPlacement& best) {
  if (best.value <= 0) return;
  LoadSearch(problem, bound, random, budget, best).run();
}

}  // namespace xflow::parallel
