// The costs of kernels on one device: cached, from the database, or measured now.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/cost/cost_model.h"
#include "src/cost/database.h"
#include "src/kernels/device.h"

namespace xflow::cost {

// The same kernel with runs of additions (or multiplications) in one canonical order, which libraries
// prefer. It computes the same, so one measurement serves all orders in a graph. `order`, if given, receives
// for each operand of the result (those of post-operations last) its number in `spec`.
ops::KernelSpec in_measured_order(ops::KernelSpec spec, std::vector<std::size_t>* order = nullptr);

// Looks up and measures the costs of kernels on one device.
class KernelCosts {
 public:
  KernelCosts(Device& device, Database& database);

  // The cost of a kernel. The reference stays valid as long as this object. A kernel that an earlier run
  // timed under interference is timed again while time is left and the machine is calmer.
  const DatabaseEntry& of(const ops::KernelSpec& spec, Layout layout);
  const CostStatistics& statistics() const { return statistics_; }
  Device& device() const { return device_; }

  // Adds the names of all kernels requested from now on to the set. Null stops it.
  using Names = std::set<std::string>;
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
  // `lasting` becomes false if the kernel failed only because time or memory ran out or the device was lost.
  DatabaseEntry measure(const DatabaseKey& key, const ops::KernelSpec& spec, bool* lasting = nullptr);
  bool remeasure(Provisional& kernel);
  bool may_gain(const Provisional& kernel);
  bool has_time() const { return statistics_.remeasuring_seconds < seconds_for_remeasuring; }

  Device& device_;
  Database& database_;
  std::unordered_map<std::string, DatabaseEntry> entries_;
  std::vector<Provisional> provisional_;  // kernels that were provisional when this run first met them
  CostStatistics statistics_;
  Names* names_ = nullptr;
};

}  // namespace xflow::cost
