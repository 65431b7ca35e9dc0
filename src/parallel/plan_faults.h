// Collects the faults of a multi-device configuration.
#pragma once

#include <xflow/check_plan.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace xflow::parallel {

// Where a fault is.
struct FaultPlace {
  std::size_t order = 0;  // 0: the model; k + 1: node k of the document
  std::string configuration = {};
  std::string node = {};
  std::string tensor = {};
};

class PlanFaults {
 public:
  void add(const FaultPlace& place, PlanField field, std::string text) {
    faults_.emplace_back(place.order, PlanFault{field, place.configuration, place.node, place.tensor, std::move(text)});
  }
  std::size_t size() const { return faults_.size(); }

  // The faults by the order of their places. Those of one place keep their order.
  std::vector<PlanFault> take() && {
    std::ranges::stable_sort(faults_, {}, [](const auto& fault) { return fault.first; });
    std::vector<PlanFault> sorted;
    sorted.reserve(faults_.size());
    for (auto& [order, fault] : faults_) sorted.push_back(std::move(fault));
    return sorted;
  }

 private:
  std::vector<std::pair<std::size_t, PlanFault>> faults_;
};

}  // namespace xflow::parallel
