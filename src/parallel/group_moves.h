// Moves of groups of operators over devices.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "src/parallel/random_numbers.h"

namespace xflow::parallel {

class GroupMoves {
 public:
  enum class Kind : std::uint8_t { one, cluster, exchange };
  static constexpr std::size_t kKinds = 3;

  // `neighbours`: the groups that each group exchanges data with.
  GroupMoves(std::vector<std::vector<std::uint32_t>> neighbours, std::uint32_t devices)
      : neighbours_(std::move(neighbours)), devices_(devices) {}

  // Moves at random: a group to a device; a cluster of about 2 to 13 groups, which begins at a group and
  // grows over neighbours that have its device; or two groups, which exchange their devices. There is one
  // group at least. `places`: the device of each group, or another number.
  void propose(Kind kind, std::span<std::uint32_t> places, RandomNumbers& random) const;

 private:
  std::vector<std::vector<std::uint32_t>> neighbours_;
  std::uint32_t devices_;
};

}  // namespace xflow::parallel
