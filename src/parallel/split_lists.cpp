#include "src/parallel/split_lists.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

namespace xflow::parallel {
namespace {

class ListScheduler {
 public:
  ListScheduler(SplitModel& model, const DeviceCluster& cluster)
      : model_(model),
        cluster_(cluster),
        plan_(model.operators().size()),
        end_(plan_.size(), 0),
        free_(cluster.size(), 0),
        held_(cluster.size(), 0) {
    for (std::uint32_t op = 0; op < plan_.size(); ++op) {
      const SplitOperator& own = model.operators()[op];
      work_.push_back(own.outputs.empty() ? nullptr : model.part(op, model.values()[own.outputs[0]].whole, std::nullopt));
      constants_.push_back(0);
      for (const std::uint32_t read : own.reads)
        if (const SplitValue& value = model.values()[read]; value.is_constant && value.is_sized) constants_.back() += bytes_of_value(value);
    }
  }

  SplitPlan by_rank() {
    const std::vector<double> rank = ranks();
    std::vector<std::uint32_t> order(plan_.size());
    std::iota(order.begin(), order.end(), 0U);
    // Operands before users: a rank is not below that of a user, and equal ones stay in their order.
    std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) { return rank[a] > rank[b]; });
    for (const std::uint32_t op : order) {
      std::optional<std::uint32_t> best;
      for (std::uint32_t device = 0; device < cluster_.size(); ++device)
        if (!best || is_better(op, device, *best, seconds(op, device), seconds(op, *best))) best = device;
      put(op, *best);
    }
    return plan_;
  }

  SplitPlan by_earliest_start() {
    std::vector<std::size_t> waits(plan_.size(), 0);
    std::vector<std::vector<std::uint32_t>> users(plan_.size());
    for (std::uint32_t op = 0; op < plan_.size(); ++op) {
      std::set<std::uint32_t> makers;
      for (const std::uint32_t read : model_.operators()[op].reads)
        if (const std::uint32_t maker = model_.values()[read].maker; maker != kNoOperator) makers.insert(maker);
      waits[op] = makers.size();
      for (const std::uint32_t maker : makers) users[maker].push_back(op);
    }
    std::set<std::uint32_t> ready;
    for (std::uint32_t op = 0; op < plan_.size(); ++op)
      if (waits[op] == 0) ready.insert(op);
    while (!ready.empty()) {
      std::optional<std::pair<std::uint32_t, std::uint32_t>> best;
      for (const std::uint32_t op : ready) {
        std::uint32_t device = 0;
        for (std::uint32_t other = 1; other < cluster_.size(); ++other)
          if (is_better(op, other, device, 0, 0)) device = other;
        if (!best || start(op, device) < start(best->first, best->second)) best = {op, device};
      }
      put(best->first, best->second);
      ready.erase(best->first);
      for (const std::uint32_t user : users[best->first])
        if (--waits[user] == 0) ready.insert(user);
    }
    return plan_;
  }

  SplitPlan by_filling() {
    const double share = std::accumulate(constants_.begin(), constants_.end(), 0.0) / cluster_.size();
    std::uint32_t device = 0;
    for (std::uint32_t op = 0; op < plan_.size(); ++op) {
      while (device + 1 < cluster_.size() && held_[device] > 0 && (held_[device] + constants_[op] > share || !fits(op, device))) ++device;
      put(op, device);
    }
    return plan_;
  }

 private:
  static double bytes_of_value(const SplitValue& value) { return value.is_sized ? elements(value.whole) * value.element_bytes : 0; }
  double seconds(std::uint32_t op, std::uint32_t device) const {
    return work_[op] == nullptr ? 0 : work_[op]->seconds[model_.source_of(device)];
  }
  bool fits(std::uint32_t op, std::uint32_t device) const { return held_[device] + constants_[op] <= cluster_.devices[device].memory; }

  // When its operands are on a device, and the device has ended what it was given.
  double start(std::uint32_t op, std::uint32_t device) const {
    double start = free_[device];
    for (const std::uint32_t read : model_.operators()[op].reads) {
      const SplitValue& value = model_.values()[read];
      if (value.maker == kNoOperator) continue;
      const std::uint32_t from = plan_[value.maker].base;
      start = std::max(start, end_[value.maker] + (from == device ? 0 : cluster_.link(from, device).seconds(bytes_of_value(value))));
    }
    return start;
  }
  // Whether a device is better than another one: it holds the constants, then by its start and `more`.
  bool is_better(std::uint32_t op, std::uint32_t device, std::uint32_t other, double more, double more_of_other) const {
    if (fits(op, device) != fits(op, other)) return fits(op, device);
    return start(op, device) + more < start(op, other) + more_of_other;
  }
  void put(std::uint32_t op, std::uint32_t device) {
    end_[op] = start(op, device) + seconds(op, device);
    free_[device] = end_[op];
    held_[device] += constants_[op];
    plan_[op].base = device;
  }

  // The longest time from the begin of each operator to the end, with means over devices and links.
  std::vector<double> ranks() const {
    std::vector<double> rank(plan_.size(), 0);
    std::vector<double> after(plan_.size(), 0);
    for (auto op = static_cast<std::uint32_t>(plan_.size()); op-- > 0;) {
      double mean = 0;
      for (std::uint32_t device = 0; device < cluster_.size(); ++device) mean += seconds(op, device) / cluster_.size();
      rank[op] = mean + after[op];
      for (const std::uint32_t read : model_.operators()[op].reads) {
        const SplitValue& value = model_.values()[read];
        if (value.maker == kNoOperator) continue;
        const double sent = cluster_.size() == 1 ? 0 : cluster_.inside.seconds(bytes_of_value(value));
        after[value.maker] = std::max(after[value.maker], sent + rank[op]);
      }
    }
    return rank;
  }

  SplitModel& model_;
  const DeviceCluster& cluster_;
  SplitPlan plan_;
  std::vector<const PartWork*> work_;  // of whole operators
  std::vector<double> constants_;      // bytes, by operator
  std::vector<double> end_;            // by operator
  std::vector<double> free_;           // by device
  std::vector<double> held_;           // bytes, by device
};

}  // namespace

const char* name(ListMethod method) {
  switch (method) {
    case ListMethod::heft:
      return "heft";
    case ListMethod::earliest:
      return "m-etf";
    case ListMethod::filled:
      return "m-topo";
  }
  return "";
}

SplitPlan list_plan(SplitModel& model, const DeviceCluster& cluster, ListMethod method) {
  ListScheduler scheduler(model, cluster);
  switch (method) {
    case ListMethod::heft:
      return scheduler.by_rank();
    case ListMethod::earliest:
      return scheduler.by_earliest_start();
    case ListMethod::filled:
      return scheduler.by_filling();
  }
  return {};
}

}  // namespace xflow::parallel
