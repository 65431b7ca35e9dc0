// What a policy changes step by step, and what it sees.
#pragma once

#include <xflow/place.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/parallel/device_loads.h"
#include "src/parallel/latency_clock.h"
#include "src/parallel/placement_problem.h"
#include "src/policy/matrix.h"

namespace xflow::policy {

// A placement of the groups of an instance that changes by one group at a time.
//
// `value` is the objective. `potential` is what rewards are made of: for the max load the 16-norm of the
// loads, which most moves change, and for the latency the value.
class PlacementEnvironment {
 public:
  // Groups are the least ones, the nodes of a class.
  PlacementEnvironment(const parallel::PlacementInstance& instance, PlacementObjective objective);
  // With larger groups: the number of the group of each node, from 0 without gaps. Classes are in one group.
  PlacementEnvironment(const parallel::PlacementInstance& instance, PlacementObjective objective, std::vector<std::uint32_t> group_of_node);
  PlacementEnvironment(const PlacementEnvironment&) = delete;
  PlacementEnvironment& operator=(const PlacementEnvironment&) = delete;

  const parallel::PlacementProblem& problem() const { return problem_; }
  std::span<const std::uint32_t> group_of_node() const { return group_of_node_; }
  // Groups along the edges between them, which a pass visits one by one.
  std::span<const std::uint32_t> order() const { return order_; }
  const parallel::GroupDevices& devices() const { return loads_.devices(); }
  double value() const { return value_; }
  double potential() const { return potential_; }

  // A placement to begin with: intervals of an order for the max load; for the latency accelerators that are
  // filled in an order, or all on the CPU if that is faster. Nothing if neither is within the memory.
  std::optional<parallel::GroupDevices> start();
  void reset(parallel::GroupDevices devices);
  void move(std::uint32_t group, std::uint32_t device);

  // Features of each group that do not depend on the placement, free of names and scale: kGroupFeatures
  // columns.
  const Matrix& group_features() const { return group_features_; }
  // Means over neighbours of each group: groups that it reads, and groups that read it.
  const Matrix& parents() const { return parents_; }
  const Matrix& children() const { return children_; }

  // What a policy sees of the devices to which a group can go; a row for each device.
  struct Choices {
    Matrix features;             // kDeviceFeatures columns
    Matrix own;                  // of each group: 1 for the group itself
    Matrix parents;              // share of the group's parents that are on the device, over all groups
    Matrix children;             // likewise
    Matrix others;               // mean over all groups on the device
    std::vector<bool> possible;  // within memory, and without parts that wait for each other
  };
  // `progress`: the visited part of a pass, from 0 to 1.
  Choices choices(std::uint32_t group, double progress);

  static constexpr std::size_t kGroupFeatures = 11;
  static constexpr std::size_t kDeviceFeatures = 13;

 private:
  struct Measure {
    double value = 0;
    double potential = 0;
  };
  Measure measure();
  void describe_groups(const parallel::PlacementInstance& instance);

  PlacementObjective objective_;
  std::vector<std::uint32_t> group_of_node_;
  parallel::PlacementProblem problem_;
  std::optional<parallel::LatencyClock> clock_;
  parallel::DeviceLoads loads_;
  std::vector<std::uint32_t> order_;
  std::vector<std::vector<std::uint32_t>> parents_of_;
  std::vector<std::vector<std::uint32_t>> children_of_;
  Matrix group_features_;
  Matrix parents_;
  Matrix children_;
  double value_ = 0;
  double potential_ = 0;
  double mean_time_ = 0;
};

}  // namespace xflow::policy
