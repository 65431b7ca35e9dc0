#include "src/parallel/latency_search.h"

#include <algorithm>
#include <cmath>

#include "src/parallel/proposals.h"

namespace xflow::parallel {
namespace {

constexpr std::uint64_t kShortestLatencyRun = 10'000;
constexpr std::uint64_t kLongestLatencyRun = 640'000;
constexpr double kHottestLatency = 0.01;  // temperatures, as shares of the value
constexpr double kColdestLatency = 0.00001;
constexpr double kShareOfLoads = 0.001;  // of the sum of the loads, so that work off the longest path counts
constexpr std::uint64_t kProposalsPerReset = 4096;

class LatencySearch {
 public:
  LatencySearch(const PlacementProblem& problem, LatencyClock& clock, double bound, RandomNumbers& random, SearchBudget& budget,
                BestPlacement& best)
      : problem_(problem),
        clock_(clock),
        bound_(bound),
        random_(random),
        budget_(budget),
        best_(best),
        loads_(problem, best.devices),
        proposals_(problem, random) {}

  void run() {
    std::uint64_t length = kShortestLatencyRun;
    for (std::uint64_t k = 0; !is_done(); ++k) {
      if (k % 2 == 0) loads_.reset(best_.devices);
      anneal(length, k % 4 == 0 ? kHottestLatency / 4 : kHottestLatency);
      if (k % 2 == 1) length = std::min(2 * length, kLongestLatencyRun);
    }
  }

 private:
  bool is_done() const { return budget_.stop().has_value() || best_.value <= bound_; }

  double sum_of_loads() const {
    double sum = 0;
    for (std::uint32_t device = 0; device < problem_.accelerators; ++device) sum += loads_.load(device);
    return kShareOfLoads * sum;
  }

  void anneal(std::uint64_t length, double hottest) {
    const double cooling = std::pow(kColdestLatency / hottest, 1.0 / static_cast<double>(length));
    double temperature = hottest * best_.value;
    for (std::uint64_t step = 0; step < length && !is_done(); ++step, temperature *= cooling) {
      if (step % kProposalsPerReset == 0) {
        loads_.reset(loads_.devices());
        price_ = clock_.latency(loads_) + sum_of_loads();
      }
      if (!budget_.spend()) return;
      if (!proposals_.propose(loads_, random_.below(problem_.devices()))) continue;
      const double limit = price_ - temperature * std::log(random_.unit()) - sum_of_loads();
      const double latency = clock_.latency(loads_, limit);
      if (!(latency <= limit)) {
        proposals_.undo(loads_);
        continue;
      }
      price_ = latency + sum_of_loads();
      if (latency < best_.value * (1 - 1e-9)) keep();
    }
  }

  void keep() {
    // Of the placement itself, without drift.
    const double value = clock_.latency(DeviceLoads(problem_, loads_.devices()));
    if (!(value < best_.value)) return;
    best_ = {value, loads_.devices()};
  }

  const PlacementProblem& problem_;
  LatencyClock& clock_;
  double bound_;
  RandomNumbers& random_;
  SearchBudget& budget_;
  BestPlacement& best_;
  DeviceLoads loads_;
  Proposals proposals_;
  double price_ = 0;
};

}  // namespace

void search_latency(const PlacementProblem& problem, LatencyClock& clock, double bound, RandomNumbers& random, SearchBudget& budget,
                    BestPlacement& best) {
  if (best.value <= 0) return;
  LatencySearch(problem, clock, bound, random, budget, best).run();
}

}  // namespace xflow::parallel
