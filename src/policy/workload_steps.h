// The steps of instances on a cluster.
#pragma once

#include <xflow/error.h>

#include <memory>
#include <string>
#include <vector>

#include "src/parallel/instance.h"
#include "src/parallel/step_simulator.h"
#include "src/parallel/workload.h"
#include "src/policy/placed_steps.h"

namespace xflow::policy {

// The groups of an instance (docs/parallel-instance.schema.json) on the devices of a cluster, all of which
// take the time of an accelerator for a node, or of a CPU for a node that no accelerator supports. A tensor
// has the bytes that the links of a host send in the time of the instance. Each node's bytes are resident.
class WorkloadSteps final : public PlacedSteps {
 public:
  // Errors: unsupported for an instance whose nodes read each other.
  static Result<std::unique_ptr<WorkloadSteps>> of(const parallel::PlacementInstance& instance, parallel::DeviceCluster cluster,
                                                   const std::string& where);

  const parallel::DeviceCluster& cluster() const override { return cluster_; }
  std::uint32_t groups() const override { return static_cast<std::uint32_t>(bytes_.size()); }
  std::span<const GroupEdge> sources(std::uint32_t group) const override { return sources_[group]; }
  std::span<const GroupEdge> readers(std::uint32_t group) const override { return readers_[group]; }
  double seconds(std::uint32_t group, std::uint32_t /*device*/) const override { return seconds_[group]; }
  double bytes(std::uint32_t group) const override { return bytes_[group]; }
  parallel::PlanCost step(std::span<const std::uint32_t> places) override;

 private:
  explicit WorkloadSteps(parallel::DeviceCluster cluster) : cluster_(std::move(cluster)) {}

  parallel::DeviceCluster cluster_;
  parallel::Workload workload_;
  std::vector<std::uint32_t> group_of_;  // of nodes of the workload
  std::vector<double> seconds_;
  std::vector<double> bytes_;
  std::vector<std::vector<GroupEdge>> sources_;
  std::vector<std::vector<GroupEdge>> readers_;
  std::unique_ptr<parallel::StepSimulator> simulator_;
};

}  // namespace xflow::policy
