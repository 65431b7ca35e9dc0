// Plans shared by several signatures, each of one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "src/generator/enumerate/element_plan.h"

namespace xflow::generator {

class PlanCache {
 public:
  using Plans = std::shared_ptr<const std::vector<ElementPlan>>;

  // Returns the plans of ElementPlan::make, or null if there are none. May be called by several threads at
  // once.
  Plans get(ir::OperatorId op, const ir::Attributes& attributes, std::span<const std::vector<std::int64_t>> operands);
  // Clears the cache. Plans that callers still hold stay valid.
  void clear();

 private:
  std::mutex mutex_;
  std::map<std::string, Plans> plans_;  // by operator, attributes and shapes as text
};

}  // namespace xflow::generator
