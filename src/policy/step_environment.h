// Groups of operators on the devices of a cluster, and the step that a placement of them takes.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/parallel/cluster.h"
#include "src/parallel/operator_groups.h"
#include "src/parallel/split_clock.h"
#include "src/parallel/split_model.h"
#include "src/parallel/split_plan.h"
#include "src/parallel/split_workload.h"
#include "src/policy/matrix.h"
#include "src/policy/placed_steps.h"

namespace xflow::policy {

// Runs a plan and returns the seconds of its step.
using MeasureStep = std::function<Result<double>(const parallel::SplitPlan&)>;

// Whole operators of a model, in groups that share a device (parallel/operator_groups.h). Gradients and
// weights of an operator are where it is.
class StepEnvironment final : public PlacedSteps {
 public:
  static constexpr std::size_t kMostTypes = 8;
  static constexpr std::size_t kGroupFeatures = 9 + kMostTypes;

  // All arguments must outlive the environment. With `measure`, costs within the memory are measured ones.
  StepEnvironment(parallel::SplitModel& model, const parallel::DeviceCluster& cluster, parallel::StepKind kind, MeasureStep measure = {});

  std::uint32_t groups() const override { return static_cast<std::uint32_t>(groups_.members.size()); }
  const parallel::DeviceCluster& cluster() const override { return cluster_; }
  const parallel::OperatorGroups& operator_groups() const { return groups_; }
  std::vector<std::vector<std::uint32_t>> neighbours() const { return parallel::neighbours_of(model_, groups_); }

  std::span<const GroupEdge> sources(std::uint32_t group) const override { return sources_[group]; }
  std::span<const GroupEdge> readers(std::uint32_t group) const override { return readers_[group]; }
  double seconds(std::uint32_t group, std::uint32_t device) const override { return seconds_[group][device]; }
  double bytes(std::uint32_t group) const override { return bytes_[group]; }  // of constants

  // A row for each group, free of names and scale: work, constants and tensors in and out beside the mean,
  // position, longest path before and after it, numbers of neighbours, and which of the kMostTypes types of
  // operators with the most work has the most of its own.
  const Matrix& features() const { return features_; }

  parallel::SplitPlan plan(std::span<const std::uint32_t> places) const;
  // Devices of groups of a plan whose operators are whole: those of their first operators.
  GroupPlaces places(const parallel::SplitPlan& plan) const;
  // The simulated cost; nullopt as soon as it is known to be above the limit.
  std::optional<parallel::PlanCost> simulate(std::span<const std::uint32_t> places, const parallel::PlanCost& limit = parallel::kAnyCost);
  parallel::PlanCost step(std::span<const std::uint32_t> places) override { return *simulate(places); }
  void keep() override { clock_.keep(); }
  // The simulated or the measured cost. Placements are measured once. Errors: those of measuring.
  Result<parallel::PlanCost> cost(std::span<const std::uint32_t> places);
  bool is_measured() const { return static_cast<bool>(measure_); }
  // The same of a plan whose operators are whole, which may divide groups. It is measured each time.
  Result<parallel::PlanCost> cost_of(const parallel::SplitPlan& plan);
  // Number of placements that were measured.
  std::size_t measured() const { return measured_.size(); }

 private:
  void describe_groups();
  void set_features();

  parallel::SplitModel& model_;
  const parallel::DeviceCluster& cluster_;
  parallel::SplitClock clock_;
  MeasureStep measure_;

  std::vector<std::vector<double>> operator_seconds_;  // by operator and device
  parallel::OperatorGroups groups_;
  std::vector<std::vector<double>> seconds_;
  std::vector<double> bytes_;
  std::vector<std::vector<GroupEdge>> sources_;
  std::vector<std::vector<GroupEdge>> readers_;
  Matrix features_;
  std::map<GroupPlaces, double> measured_;
};

}  // namespace xflow::policy
