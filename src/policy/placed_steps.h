// Groups of nodes whose placement has a step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/parallel/cluster.h"
#include "src/parallel/split_clock.h"

namespace xflow::policy {

// The device of each group.
using GroupPlaces = std::vector<std::uint32_t>;

// The bytes that a group sends to another one, or receives.
struct GroupEdge {
  std::uint32_t group = 0;
  double bytes = 0;
};

class PlacedSteps {
 public:
  PlacedSteps() = default;
  virtual ~PlacedSteps() = default;
  PlacedSteps(const PlacedSteps&) = delete;
  PlacedSteps& operator=(const PlacedSteps&) = delete;

  virtual const parallel::DeviceCluster& cluster() const = 0;
  virtual std::uint32_t groups() const = 0;
  // Groups that a group reads, and groups that read it, by their numbers.
  virtual std::span<const GroupEdge> sources(std::uint32_t group) const = 0;
  virtual std::span<const GroupEdge> readers(std::uint32_t group) const = 0;
  // Seconds of a group on a device, with gradients for a training step.
  virtual double seconds(std::uint32_t group, std::uint32_t device) const = 0;
  // Bytes that are resident with a group, such as its constants.
  virtual double bytes(std::uint32_t group) const = 0;
  // The simulated cost of a placement.
  virtual parallel::PlanCost step(std::span<const std::uint32_t> places) = 0;
  // Placements that follow differ little from the last one.
  virtual void keep() {}

  std::uint32_t devices() const { return cluster().size(); }
};

}  // namespace xflow::policy
