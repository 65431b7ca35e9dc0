// The costs of kernels on one device: remembered, in the database, or measured now.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/cost/cover.h"
#include "src/cost/database.h"
#include "src/kernels/device.h"

namespace xflow::cost {

// The same kernel with what is added (or multiplied) in a row in one order: it computes the same, and a library takes the order that it
// likes. One measurement then serves all orders in which a graph may do it. `order`, where given, gets for each operand of the result,
// those of post-operations after, which operand of `spec` it is.
ops::KernelSpec in_measured_order(ops::KernelSpec spec, std::vector<std::size_t>* order = nullptr);

class KernelCosts {
 public:
  KernelCosts(Device& device, Database& database);

  // The entry stays where it is until the end. What an earlier run timed under interference is timed again here, while there is time
  // for that and the machine is calmer.
  const DatabaseEntry& of(const ops::KernelSpec& spec, Layout layout);
  const CostStatistics& statistics() const { return statistics_; }
  Device& device() const { return device_; }

  // Names of kernels that are asked for from now on are added to the set; null: to none.
  using Names = std::set<std::string>;
  void record(Names* names) { names_ = names; }
  // Times provisional kernels again where the machine is calmer now: those that are named first, and once whatever the time, then those
  // whose error may be largest. True if a cost changed; it did so in place.
  bool again(const Names& first);

  std::function<void(const std::string&)> on_measure;
  double seconds_for_again = 0;  // what timing again may take in all

 private:
  struct Provisional {
    std::string name;
    DatabaseKey key;
    ops::KernelSpec spec;
    DatabaseEntry* entry = nullptr;
    bool again = false;  // it was timed again
  };
  // `lasting`: false for what is not known only because some time was over.
  DatabaseEntry measure(const DatabaseKey& key, const ops::KernelSpec& spec, bool* lasting = nullptr);
  bool measure_again(Provisional& kernel);
  bool may_gain(const Provisional& kernel);
  bool has_time() const { return statistics_.again_seconds < seconds_for_again; }

  Device& device_;
  Database& database_;
  std::unordered_map<std::string, DatabaseEntry> entries_;
  std::vector<Provisional> provisional_;  // that were so when they were first met in this run
  CostStatistics statistics_;
  Names* names_ = nullptr;
};

}  // namespace xflow::cost
