// The nodes of gradients that are added: those of tied weights by range and copy, and all of them by device.
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
  std::vector<std::uint32_t> nodes;
};
using TiedGroups = std::vector<TiedGroup>;

// Adds a node to the group of a range and copy. Groups stay in the order of their first nodes.
inline void add_to(TiedGroups& groups, const Box& box, std::uint32_t copy, std::uint32_t node) {
  auto group = std::ranges::find_if(groups, [&](const TiedGroup& own) { return own.copy == copy && own.box == box; });
  if (group == groups.end()) group = groups.insert(groups.end(), TiedGroup{box, copy, {}});
  group->nodes.push_back(node);
}

// The nodes of each device, in the order of the first ones.
template <typename DeviceOf>
std::vector<std::vector<std::uint32_t>> nodes_by_device(const std::vector<std::uint32_t>& nodes, const DeviceOf& device_of) {
  std::vector<std::vector<std::uint32_t>> groups;
  for (const std::uint32_t node : nodes) {
    const auto same = [&](const std::vector<std::uint32_t>& group) { return device_of(group[0]) == device_of(node); };
    const auto group = std::ranges::find_if(groups, same);
    if (group == groups.end())
      groups.push_back({node});
    else
      group->push_back(node);
  }
  return groups;
}

}  // namespace xflow::parallel
