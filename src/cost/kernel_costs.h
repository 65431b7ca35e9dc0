// The costs of kernels on one device: remembered, in the database, or measured now.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "src/cost/cover.h"
#include "src/cost/database.h"
#include "src/cost/device.h"

namespace xflow::cost {

// The same kernel with what is added (or multiplied) in a row in one order: it computes the same, and a library takes the order that it
// likes. One measurement then serves all orders in which a graph may do it.
ops::KernelSpec in_measured_order(ops::KernelSpec spec);

class KernelCosts {
 public:
  KernelCosts(Device& device, Database& database) : device_(device), database_(database) {}

  // The entry stays where it is until the end.
  const DatabaseEntry& of(const ops::KernelSpec& spec, Layout layout);
  const CostStatistics& statistics() const { return statistics_; }
  Device& device() const { return device_; }

  std::function<void(const std::string&)> on_measure;

 private:
  Device& device_;
  Database& database_;
  std::unordered_map<std::string, DatabaseEntry> entries_;
  CostStatistics statistics_;
};

}  // namespace xflow::cost
