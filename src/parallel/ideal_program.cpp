#include "src/parallel/ideal_program.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

namespace xflow::parallel {
namespace {

using Bits = std::vector<std::uint64_t>;

struct BitsHash {
  std::size_t operator()(const Bits& bits) const {
    std::uint64_t hash = 0;
    for (const std::uint64_t word : bits) {
      hash = (hash ^ word) * 0x9e3779b97f4a7c15U;
      hash ^= hash >> 32U;
    }
    return hash;
  }
};

// An ideal that is smaller by one group.
struct Smaller {
  std::uint32_t ideal = 0;
  std::uint32_t group = 0;
};

// All ideals of an order, by size, and for each those that are smaller by one group.
class Ideals {
 public:
  explicit Ideals(const PlacementProblem& problem)
      : groups_(problem.size()), sources_(groups_, problem.order, true), words_((groups_ + std::size_t{63}) / 64) {}

  // False if there are more than `most`.
  bool enumerate(std::size_t most) {
    add(Bits(words_), 1);
    for (std::uint32_t ideal = 0; ideal < smaller_.size(); ++ideal) {
      Bits bits = *bits_[ideal];
      for (std::uint32_t group = 0; group < groups_; ++group) {
        if (!can_follow(bits, group)) continue;
        const std::uint64_t bit = std::uint64_t{1} << (group % 64);
        bits[group / 64] |= bit;
        const auto larger = add(bits, most);
        if (!larger) return false;
        smaller_[*larger].push_back({ideal, group});
        bits[group / 64] &= ~bit;
      }
    }
    return true;
  }

  std::size_t size() const { return smaller_.size(); }
  const std::vector<Smaller>& smaller(std::uint32_t ideal) const { return smaller_[ideal]; }

 private:
  static bool has(const Bits& bits, std::uint32_t group) { return ((bits[group / 64] >> (group % 64)) & 1U) != 0; }
  bool can_follow(const Bits& bits, std::uint32_t group) const {
    if (has(bits, group)) return false;
    return std::ranges::all_of(sources_[group], [&](std::uint32_t source) { return has(bits, source); });
  }
  // The number of the ideal.
  std::optional<std::uint32_t> add(const Bits& bits, std::size_t most) {
    const auto [at, is_new] = numbers_.emplace(bits, static_cast<std::uint32_t>(smaller_.size()));
    if (!is_new) return at->second;
    if (smaller_.size() == most) return std::nullopt;
    bits_.push_back(&at->first);
    smaller_.emplace_back();
    return at->second;
  }

  std::uint32_t groups_;
  Adjacency sources_;
  std::size_t words_;
  std::unordered_map<Bits, std::uint32_t, BitsHash> numbers_;
  std::vector<const Bits*> bits_;
  std::vector<std::vector<Smaller>> smaller_;
};

// The groups of a device while a walk adds and removes them.
class GrowingPart {
 public:
  explicit GrowingPart(const PlacementProblem& problem) : problem_(problem), counts_(problem.tensors.size(), 0) {}

  void add(std::uint32_t group) {
    sums_.push_back(sums_.back());
    Sums& sums = sums_.back();
    const PlacementGroup& g = problem_.groups[group];
    sums.compute += g.on_accelerator ? g.accelerator_time : kInfinity;
    sums.cpu += g.cpu_time;
    sums.bytes += g.bytes;
    for (const std::uint32_t tensor : problem_.tensors_of[group]) {
      const GroupTensor& t = problem_.tensors[tensor];
      if (counts_[tensor]++ == 0) sums.transfers += t.cost;
      if (counts_[tensor] == t.groups.size()) sums.transfers -= t.cost;
    }
  }
  void remove(std::uint32_t group) {
    sums_.pop_back();
    for (const std::uint32_t tensor : problem_.tensors_of[group]) --counts_[tensor];
  }
  double compute() const {
    if (problem_.accelerators == 0 || sums_.back().bytes > problem_.memory) return kInfinity;
    return sums_.back().compute;
  }
  double accelerator_load() const { return compute() + sums_.back().transfers; }
  double cpu_load() const { return problem_.cpus > 0 ? sums_.back().cpu : kInfinity; }

 private:
  struct Sums {
    double compute = 0;
    double transfers = 0;
    double cpu = 0;
    double bytes = 0;
  };
  const PlacementProblem& problem_;
  std::vector<std::uint32_t> counts_;
  std::vector<Sums> sums_ = {Sums{}};
};

class IdealProgram {
 public:
  IdealProgram(const PlacementProblem& problem, const Ideals& ideals, double limit, SearchBudget& budget)
      : problem_(problem),
        ideals_(ideals),
        limit_(limit),
        budget_(budget),
        row_(problem.accelerators + std::size_t{1}),
        width_(row_ * (problem.cpus + std::size_t{1})),
        best_(ideals.size() * width_, kInfinity),
        from_(best_.size()),
        seen_(ideals.size(), 0),
        part_(problem) {}

  IdealResult run() {
    std::fill_n(best_.begin(), width_, 0.0);
    for (std::uint32_t ideal = 1; ideal < ideals_.size(); ++ideal) {
      if (!walk_down(ideal)) return {IdealEnd::stopped, std::nullopt, ideals_.size()};
    }
    IdealResult result{IdealEnd::complete, std::nullopt, ideals_.size()};
    if (best_.back() < limit_) result.found = IntervalPlacement{best_.back(), devices()};
    return result;
  }

 private:
  struct Step {
    std::uint32_t ideal = 0;
    bool on_accelerator = false;
  };
  struct Visit {
    std::uint32_t ideal;
    std::uint32_t next;   // position of the next smaller ideal
    std::uint32_t group;  // by which this ideal is smaller than the one before
  };

  // All ideals below `top` whose difference to it fits a device. False if the budget is spent.
  bool walk_down(std::uint32_t top) {
    std::vector<Visit> visits = {{top, 0, 0}};
    while (!visits.empty()) {
      Visit& visit = visits.back();
      const std::vector<Smaller>& smaller = ideals_.smaller(visit.ideal);
      if (visit.next == smaller.size()) {
        if (visits.size() > 1) part_.remove(visit.group);
        visits.pop_back();
        continue;
      }
      const Smaller next = smaller[visit.next++];
      if (seen_[next.ideal] == top) continue;
      seen_[next.ideal] = top;
      if (!budget_.spend()) return false;
      part_.add(next.group);
      if (part_.compute() < limit_ || part_.cpu_load() < limit_) {
        relax(top, next.ideal);
        visits.push_back({next.ideal, 0, next.group});
      } else {
        part_.remove(next.group);
      }
    }
    return true;
  }

  void relax(std::uint32_t top, std::uint32_t below) {
    const double* before = &best_[below * width_];
    // The value with all devices is the smallest.
    if (!(before[width_ - 1] < limit_)) return;
    double* best = &best_[top * width_];
    const double load = part_.accelerator_load();
    if (load < limit_) {
      for (std::size_t k = 1; k < width_; ++k) {
        // Not across the ends of rows, which are numbers of CPUs.
        if (k % row_ == 0) continue;
        const double value = std::max(before[k - 1], load);
        if (value < best[k]) {
          best[k] = value;
          from_[top * width_ + k] = {below, true};
        }
      }
    }
    if (!(part_.cpu_load() < limit_)) return;
    for (std::size_t k = row_; k < width_; ++k) {
      const double value = std::max(before[k - row_], part_.cpu_load());
      if (value < best[k]) {
        best[k] = value;
        from_[top * width_ + k] = {below, false};
      }
    }
  }

  GroupDevices devices() const {
    GroupDevices result(problem_.size());
    std::size_t state = width_ - 1;
    for (auto ideal = static_cast<std::uint32_t>(ideals_.size() - 1); ideal != 0;) {
      const Step step = from_[ideal * width_ + state];
      state -= step.on_accelerator ? 1 : row_;
      const auto device = static_cast<std::uint32_t>(step.on_accelerator ? state % row_ : problem_.accelerators + state / row_);
      mark(ideal, step.ideal, device, result);
      ideal = step.ideal;
    }
    return result;
  }

  // Gives the groups of `top` that `below` does not have the device.
  void mark(std::uint32_t top, std::uint32_t below, std::uint32_t device, GroupDevices& devices) const {
    // A path from top to below: a search from the top that visits each ideal once.
    std::vector<Visit> path = {{top, 0, 0}};
    std::vector<bool> is_seen(ideals_.size());
    while (path.back().ideal != below) {
      Visit& visit = path.back();
      if (visit.next == ideals_.smaller(visit.ideal).size()) {
        path.pop_back();
        continue;
      }
      const Smaller next = ideals_.smaller(visit.ideal)[visit.next++];
      if (next.ideal < below || is_seen[next.ideal]) continue;
      is_seen[next.ideal] = true;
      path.push_back({next.ideal, 0, next.group});
    }
    for (std::size_t k = 1; k < path.size(); ++k) devices[path[k].group] = device;
  }

  const PlacementProblem& problem_;
  const Ideals& ideals_;
  double limit_;
  SearchBudget& budget_;
  std::size_t row_;
  std::size_t width_;
  std::vector<double> best_;
  std::vector<Step> from_;
  std::vector<std::uint32_t> seen_;  // of each ideal: the last top that reached it
  GrowingPart part_;
};

}  // namespace

IdealResult best_ideals(const PlacementProblem& problem, double limit, std::size_t most_ideals, SearchBudget& budget) {
  Ideals ideals(problem);
  if (!ideals.enumerate(most_ideals)) return {IdealEnd::too_many, std::nullopt, most_ideals};
  return IdealProgram(problem, ideals, limit, budget).run();
}

}  // namespace xflow::parallel
