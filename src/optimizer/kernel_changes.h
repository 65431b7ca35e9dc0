// The kernels of a graph before and after its rewrites.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "src/cost/cost_model.h"
#include "src/search/search.h"
#include "xflow/report.h"

namespace xflow::api {

// The kernels of the graphs that a search ended with, while its prices are known.
class FoundKernels {
 public:
  FoundKernels() = default;
  FoundKernels(cost::CostModel& costs, const ir::Graph& original, const search::Outcome& outcome);

  // The changes from the original to a finalist, by its index among finalists(outcome); one without steps is
  // the original. Sorted by the time before, longest first.
  std::vector<KernelChange> changes(std::size_t index, const search::Finalist& shipped) const;
  // The kernels of the original.
  std::vector<KernelChange> unchanged() const { return changes_to(original_); }

 private:
  struct Launches {
    std::uint64_t count = 0;
    Nanoseconds time{};
  };
  using Kernels = std::map<std::string, Launches>;

  static Kernels kernels_of(cost::CostModel& costs, const ir::Graph& graph);
  std::vector<KernelChange> changes_to(const Kernels& result) const;

  Kernels original_;
  std::vector<Kernels> finalists_;
};

// Replaces what a report says of the result by what a further search on the result says.
void add_kernel_changes(std::vector<KernelChange>& report, const std::vector<KernelChange>& round);

}  // namespace xflow::api
