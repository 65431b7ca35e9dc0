// Steps as what a policy changes that visits one group after the other.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "src/policy/placed_steps.h"
#include "src/policy/visit_environment.h"

namespace xflow::policy {

// The value is the step. The potential is the step plus a tenth of the 16-norm of the seconds of devices,
// since many moves do not change the step. Groups are visited in their order. A device is possible where it
// has memory for what is resident with the group.
class StepVisits final : public VisitEnvironment {
 public:
  // Begins with the better of one device and ranges of groups with about the same work. `steps` must outlive
  // it.
  explicit StepVisits(PlacedSteps& steps);
  // The same of steps that it owns.
  explicit StepVisits(std::unique_ptr<PlacedSteps> steps) : StepVisits(*steps) { owned_ = std::move(steps); }

  std::uint32_t groups() const override { return steps_.groups(); }
  std::uint32_t device_count() const override { return steps_.devices(); }
  std::span<const std::uint32_t> order() const override { return order_; }
  const parallel::GroupDevices& devices() const override { return places_; }
  double value() const override { return cost_.step; }
  double potential() const override { return potential_; }
  const parallel::PlanCost& cost() const { return cost_; }
  void reset(parallel::GroupDevices devices) override;
  void move(std::uint32_t group, std::uint32_t device) override;
  const Matrix& group_features() const override { return group_features_; }
  const Matrix& parents() const override { return parents_; }
  const Matrix& children() const override { return children_; }
  Choices choices(std::uint32_t group, double progress) override;

 private:
  void describe();
  double norm_of_loads() const;
  double potential_of(double step) const { return step + kShareOfLoads * norm_of_loads(); }
  void assign(std::uint32_t group, std::uint32_t device);

  static constexpr double kShareOfLoads = 0.1;

  std::unique_ptr<PlacedSteps> owned_;
  PlacedSteps& steps_;
  std::vector<std::uint32_t> order_;
  Matrix group_features_;
  Matrix parents_;
  Matrix children_;
  double mean_time_ = 0;

  GroupPlaces places_;
  std::vector<double> loads_;     // seconds, by device
  std::vector<double> resident_;  // bytes, by device
  parallel::PlanCost cost_;
  double potential_ = 0;
};

}  // namespace xflow::policy
