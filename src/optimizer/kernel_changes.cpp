#include "src/optimizer/kernel_changes.h"

#include <algorithm>

namespace xflow::api {
namespace {

void sort_by_time(std::vector<KernelChange>& changes) {
  std::ranges::sort(changes, [](const KernelChange& a, const KernelChange& b) {
    if (a.time.before != b.time.before) return a.time.before > b.time.before;
    return a.time.after != b.time.after ? a.time.after > b.time.after : a.kernel < b.kernel;
  });
}

}  // namespace

FoundKernels::FoundKernels(cost::CostModel& costs, const ir::Graph& original, const search::Outcome& outcome)
    : original_(kernels_of(costs, original)) {
  finalists_.push_back(kernels_of(costs, outcome.best));
  for (const search::Finalist& other : outcome.others) finalists_.push_back(kernels_of(costs, other.graph));
}

std::vector<KernelChange> FoundKernels::changes(std::size_t index, const search::Finalist& shipped) const {
  return changes_to(shipped.steps.empty() || index >= finalists_.size() ? original_ : finalists_[index]);
}

FoundKernels::Kernels FoundKernels::kernels_of(cost::CostModel& costs, const ir::Graph& graph) {
  Kernels kernels;
  const auto regions = costs.explain(graph);
  if (!regions) return kernels;
  for (const cost::CoveredRegion& region : *regions) {
    if (!region.measured) continue;
    Launches& launches = kernels[region.kernel];
    ++launches.count;
    launches.time += region.cost.median;
  }
  return kernels;
}

std::vector<KernelChange> FoundKernels::changes_to(const Kernels& result) const {
  std::map<std::string, KernelChange> changes;
  for (const auto& [kernel, launches] : original_) {
    changes[kernel].before = launches.count;
    changes[kernel].time.before = launches.time;
  }
  for (const auto& [kernel, launches] : result) {
    changes[kernel].after = launches.count;
    changes[kernel].time.after = launches.time;
  }
  std::vector<KernelChange> list;
  list.reserve(changes.size());
  for (auto& [kernel, change] : changes) {
    change.kernel = kernel;
    list.push_back(std::move(change));
  }
  sort_by_time(list);
  return list;
}

void add_kernel_changes(std::vector<KernelChange>& report, const std::vector<KernelChange>& round) {
  std::map<std::string, KernelChange> changes;
  for (const KernelChange& change : report) {
    KernelChange& one = changes[change.kernel] = change;
    one.after = 0;
    one.time.after = Nanoseconds(0);
  }
  for (const KernelChange& change : round) {
    KernelChange& one = changes[change.kernel];
    one.after = change.after;
    one.time.after = change.time.after;
  }
  report.clear();
  for (auto& [kernel, change] : changes) {
    if (change.before + change.after == 0) continue;
    change.kernel = kernel;
    report.push_back(std::move(change));
  }
  sort_by_time(report);
}

}  // namespace xflow::api
