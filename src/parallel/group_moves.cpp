#include "src/parallel/group_moves.h"

#include <algorithm>

namespace xflow::parallel {

void GroupMoves::propose(Kind kind, std::span<std::uint32_t> places, RandomNumbers& random) const {
  const auto count = static_cast<std::uint32_t>(places.size());
  const std::uint32_t group = random.below(count);
  if (kind == Kind::exchange) {
    std::swap(places[group], places[random.below(count)]);
    return;
  }
  const std::uint32_t device = random.below(devices_);
  const std::uint32_t before = places[group];
  std::vector<std::uint32_t> moved = {group};
  if (kind == Kind::cluster) {
    constexpr std::size_t kMost = 12;
    const std::size_t size = 2 + random.below(kMost);
    for (std::size_t k = 0; k < moved.size() && moved.size() < size; ++k) {
      for (const std::uint32_t other : neighbours_[moved[k]])
        if (places[other] == before && std::ranges::find(moved, other) == moved.end()) moved.push_back(other);
    }
  }
  for (const std::uint32_t other : moved) places[other] = device;
}

}  // namespace xflow::parallel
