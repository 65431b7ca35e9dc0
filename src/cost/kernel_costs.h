// The costs of kernels on one device: cached, from the database, or measured now.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/cost/cost_model.h"
#include "src/cost/database.h"
#include "src/cost/kernel_estimates.h"
#include "src/kernels/device.h"

namespace xflow::cost {

// The same kernel with runs of additions (or multiplications) in one canonical order, which libraries
// prefer. It computes the same, so one measurement serves all orders in a graph. `order`, if given, receives
// for each operand of the result (those of post-operations last) its number in `spec`.
ops::KernelSpec in_measured_order(ops::KernelSpec spec, std::vector<std::size_t>* order = nullptr);

// Looks up and measures the costs of kernels on one device.
class KernelCosts {
 public:
  using Names = std::set<std::string>;

  // `estimates`, if given, must outlive the object.
  KernelCosts(Device& device, Database& database, KernelEstimates* estimates = nullptr);

  // The cost of a kernel. The reference stays valid as long as this object. A kernel that an earlier run
  // timed under interference is timed again while time is left and the machine is calmer.
  const DatabaseEntry& of(const ops::KernelSpec& spec, Layout layout);
  // Kernels that were not timed have the costs that are expected of them, where that is possible, and
  // `deviations` standard deviations of their errors more. They are not timed then, until time() is called,
  // or `of` when this is off again (nullopt). Costs change in place.
  void expect_costs(std::optional<double> deviations);
  // Times the kernels among `names` that have expected costs, those with the largest possible error first.
  // True if one was timed; its entry changes in place. What cannot be timed for lack of time keeps its
  // expected cost, and is refused if nothing is expected any more.
  bool time(const Names& names);
  // Whether none of the names has an expected cost.
  bool are_timed(const Names& names) const;

  // Whether `of` need not be called for all kernels: there are estimates, and kernels have to be timed.
  bool may_leave_out() const { return may_leave_out_; }
  // The cost of a kernel that was timed before; null if it was not.
  const DatabaseEntry* find(const ops::KernelSpec& spec, Layout layout);
  // A time that the kernel hardly falls below, whether it was timed or not.
  Nanoseconds at_least(const ops::KernelSpec& spec);
  const CostStatistics& statistics() const { return statistics_; }
  Device& device() const { return device_; }

  // Adds the names of all kernels requested from now on to the set. Null stops it.
  void record(Names* names) { names_ = names; }
  // Times provisional kernels again where the machine is calmer now: first the kernels in `first`, once
  // regardless of the time limit, then those with the largest possible error. True if a cost changed;
  // entries change in place.
  bool remeasure(const Names& first);

  std::function<void(const std::string&)> on_measure;
  double seconds_for_remeasuring = 0;  // total time for timing kernels again

 private:
  struct Provisional {
    std::string name;
    DatabaseKey key;
    ops::KernelSpec spec;
    DatabaseEntry* entry = nullptr;
    bool timed_again = false;  // whether it was timed again
  };
  struct Expected {
    DatabaseKey key;
    ops::KernelSpec spec;
    DatabaseEntry* entry = nullptr;
    KernelEstimate estimate;
    bool failed = false;  // no time was left for it
  };
  Nanoseconds expected_time(const KernelEstimate& estimate) const;
  // Fills a new entry with the expected cost of a kernel, if there is one.
  bool expect(const std::string& name_in_memory, const DatabaseKey& key, const ops::KernelSpec& spec, DatabaseEntry& entry);
  // Fills a new entry with the cost that is measured now.
  void measure_first(const DatabaseKey& key, const ops::KernelSpec& spec, DatabaseEntry& entry);
  void note_interference(const std::string& name_in_memory, const DatabaseKey& key, const ops::KernelSpec& spec, DatabaseEntry& entry);
  // `lasting` becomes false if the kernel failed only because time or memory ran out or the device was lost.
  DatabaseEntry measure(const DatabaseKey& key, const ops::KernelSpec& spec, bool* lasting = nullptr);
  bool remeasure(Provisional& kernel);
  bool may_gain(const Provisional& kernel);
  bool has_time() const { return statistics_.remeasuring_seconds < seconds_for_remeasuring; }

  Device& device_;
  Database& database_;
  KernelEstimates* estimates_ = nullptr;
  bool may_leave_out_ = false;
  std::optional<double> expects_;             // deviations
  std::map<std::string, Expected> expected_;  // kernels that have expected costs
  std::unordered_map<std::string, DatabaseEntry> entries_;
  std::vector<Provisional> provisional_;  // kernels that were provisional when this run first met them
  CostStatistics statistics_;
  Names* names_ = nullptr;
};

}  // namespace xflow::cost
