// The nodes of gradients of tied weights, by range, copy and device.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "src/parallel/box.h"

namespace xflow::parallel {

struct TiedGroup {
  Box box;
  std::uint32_t copy = 0;
  std::vector<std::pair<std::uint32_t, std::vector<std::uint32_t>>> nodes;  // by device
};
using TiedGroups = std::vector<TiedGroup>;

// Adds a node to the group of a range and copy. Groups and their devices stay in the order of their first
// nodes.
inline void add_to(TiedGroups& groups, const Box& box, std::uint32_t copy, std::uint32_t device, std::uint32_t node) {
  auto group = std::ranges::find_if(groups, [&](const TiedGroup& own) { return own.copy == copy && own.box == box; });
  if (group == groups.end()) group = groups.insert(groups.end(), TiedGroup{box, copy, {}});
  const auto place = std::ranges::find(group->nodes, device, &std::pair<std::uint32_t, std::vector<std::uint32_t>>::first);
  if (place == group->nodes.end())
    group->nodes.push_back({device, {node}});
  else
    place->second.push_back(node);
}

}  // namespace xflow::parallel
