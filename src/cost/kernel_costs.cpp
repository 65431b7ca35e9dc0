#include "src/cost/kernel_costs.h"

#include <chrono>

namespace xflow::cost {

const DatabaseEntry& KernelCosts::of(const ops::KernelSpec& spec, Layout layout) {
  DatabaseKey key{ops::to_string(spec), layout};
  std::string name_in_memory = key.kernel + "@" + std::string(name(layout));
  if (const auto found = entries_.find(name_in_memory); found != entries_.end()) return found->second;
  DatabaseEntry entry;
  if (const DatabaseEntry* stored = database_.find(key)) {
    entry = *stored;
    ++statistics_.known;
  } else {
    if (on_measure) on_measure(key.kernel);
    const auto begin = std::chrono::steady_clock::now();
    Result<KernelCost> cost = device_.measure(spec, layout);
    if (cost) {
      entry.cost = *cost;
    } else {
      entry.refusal = cost.error().message;
    }
    statistics_.measured_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    ++statistics_.measured;
    database_.insert(key, entry);
  }
  return entries_.emplace(std::move(name_in_memory), std::move(entry)).first->second;
}

}  // namespace xflow::cost
