// Plans that several signatures, of one thread each, have in common.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "src/generator/enumerate/plan.h"

namespace xflow::generator {

class PlanCache {
 public:
  using Plans = std::shared_ptr<const std::vector<Plan>>;

  // As Plan::make; by several threads at a time. Null where there is no plan.
  Plans get(ir::OperatorId op, const ir::Attributes& attributes, std::span<const std::vector<std::int64_t>> operands);
  // What others still hold stays with them.
  void clear();

 private:
  std::mutex mutex_;
  std::map<std::string, Plans> plans_;  // by operator, attributes and shapes as text
};

}  // namespace xflow::generator
