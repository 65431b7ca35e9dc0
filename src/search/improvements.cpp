#include "src/search/improvements.h"

#include <utility>

namespace xflow::search {

using ir::NodeId;

void Improvements::add(NodeId root, const Candidates& list) {
  for (std::uint32_t k = 0; k < list.size(); ++k) {
    if (list[k]->possible && list[k]->change < cost::Ticks{}) queue_.insert({list[k]->change, root, k, list[k]});
  }
}

std::optional<Improvement> Improvements::take() {
  if (queue_.empty()) return std::nullopt;
  return std::move(queue_.extract(queue_.begin()).value());
}

void Improvements::put_aside(Improvement improvement) {
  const std::int64_t bytes = improvement.candidate->bytes;
  aside_.emplace(bytes, std::move(improvement));
}

void Improvements::take_up(std::int64_t bytes) {
  const auto end = aside_.upper_bound(bytes);
  for (auto at = aside_.begin(); at != end; ++at) queue_.insert(std::move(at->second));
  aside_.erase(aside_.begin(), end);
}

}  // namespace xflow::search
