// Proposals of local searches: which groups go to which device.
#pragma once

#include <vector>

#include "src/parallel/device_loads.h"
#include "src/parallel/random_numbers.h"

namespace xflow::parallel {

// Makes random changes of a placement that can be undone.
class Proposals {
 public:
  Proposals(const PlacementProblem& problem, RandomNumbers& random);

  // Changes the placement; false, without a change, if the proposal is not possible. Groups of the device
  // `busy` are proposed more often.
  bool propose(DeviceLoads& loads, std::uint32_t busy);
  // Takes the last change back.
  void undo(DeviceLoads& loads);

 private:
  struct Move {
    std::uint32_t group;
    std::uint32_t from;
  };

  bool move(DeviceLoads& loads, std::uint32_t group, std::uint32_t to);
  bool move_group(DeviceLoads& loads, std::uint32_t group);
  bool swap_groups(DeviceLoads& loads, std::uint32_t group);
  bool move_cluster(DeviceLoads& loads, std::uint32_t group);
  std::uint32_t random_group(const DeviceLoads& loads, std::uint32_t busy);
  std::uint32_t random_device(const DeviceLoads& loads, std::uint32_t group);

  const PlacementProblem* problem_;
  RandomNumbers* random_;
  std::vector<double> costs_;        // of tensors, ascending
  std::vector<Move> moves_;          // of the last change
  std::vector<std::uint32_t> seen_;  // of each group: the last cluster that reached it
  std::vector<std::uint32_t> cluster_;
  std::uint32_t clusters_ = 0;
};

}  // namespace xflow::parallel
