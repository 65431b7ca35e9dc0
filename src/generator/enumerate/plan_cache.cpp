#include "src/generator/enumerate/plan_cache.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace xflow::generator {

PlanCache::Plans PlanCache::get(ir::OperatorId op, const ir::Attributes& attributes, std::span<const std::vector<std::int64_t>> operands) {
  std::string key = fmt::format("{} {}", static_cast<int>(op), ir::to_string(ir::Symbols(), attributes));
  for (const std::vector<std::int64_t>& dims : operands) key += fmt::format(" [{}]", fmt::join(dims, ","));
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = plans_.find(key); found != plans_.end()) return found->second;
  }
  // Two threads may make the same plans; the first result is kept.
  auto made = ElementPlan::make(op, attributes, operands);
  Plans plans = made ? std::make_shared<const std::vector<ElementPlan>>(*std::move(made)) : nullptr;
  const std::lock_guard lock(mutex_);
  return plans_.try_emplace(std::move(key), std::move(plans)).first->second;
}

void PlanCache::clear() {
  const std::lock_guard lock(mutex_);
  plans_.clear();
}

}  // namespace xflow::generator
