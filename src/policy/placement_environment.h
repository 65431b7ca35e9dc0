// The instances of `xflow place` as what a policy changes.
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
#include "src/policy/visit_environment.h"

namespace xflow::policy {

// A placement of the groups of an instance. The value is the objective of `xflow place`; the potential is
// the 16-norm of the loads for the max load, and the value for the latency.
class PlacementEnvironment final : public VisitEnvironment {
 public:
  // Groups are the least ones, the nodes of a class.
  PlacementEnvironment(const parallel::PlacementInstance& instance, PlacementObjective objective);
  // With larger groups: the number of the group of each node, from 0 without gaps. Classes are in one group.
  PlacementEnvironment(const parallel::PlacementInstance& instance, PlacementObjective objective, std::vector<std::uint32_t> group_of_node);

  PlacementObjective objective() const { return objective_; }
  const parallel::PlacementProblem& problem() const { return problem_; }
  std::span<const std::uint32_t> group_of_node() const { return group_of_node_; }
  std::uint32_t groups() const override { return problem_.size(); }
  std::uint32_t device_count() const override { return problem_.devices(); }
  std::span<const std::uint32_t> order() const override { return order_; }
  const parallel::GroupDevices& devices() const override { return loads_.devices(); }
  double value() const override { return value_; }
  double potential() const override { return potential_; }

  // Placements to begin with. Number 0 is the best of simple ones: intervals of an order, for the latency
  // also accelerators that are filled in the order, and all on the CPU. Other numbers are intervals of other
  // orders. Nothing if none is within the memory.
  std::optional<parallel::GroupDevices> start(std::uint64_t number = 0);
  void reset(parallel::GroupDevices devices) override;
  void move(std::uint32_t group, std::uint32_t device) override;
  const Matrix& group_features() const override { return group_features_; }
  const Matrix& parents() const override { return parents_; }
  const Matrix& children() const override { return children_; }
  Choices choices(std::uint32_t group, double progress) override;

 private:
  struct Measure {
    double value = 0;
    double potential = 0;
  };
  Measure measure();
  double value_of(const parallel::GroupDevices& devices);
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
