// The graphs of files that a policy is trained for.
#pragma once

#include <xflow/error.h>
#include <xflow/place.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/parallel/instance.h"
#include "src/policy/matrix.h"
#include "src/policy/placement_environment.h"
#include "src/policy/policy_placement.h"
#include "src/policy/validation.h"

namespace xflow::policy {

// Graphs with the best placement of each that a training has passed, in its episodes or by its policy. Of
// placements with the same value, that with the smallest potential is the best: few moves change the value.
// Weights are compared by the placements that `xflow place` has from first ones, with its first seed.
class GivenGraphs final : public Validation {
 public:
  // Errors: those of open_environment().
  static Result<std::unique_ptr<GivenGraphs>> open(std::span<const parallel::PlacementInstance> instances, PlacementObjective objective,
                                                   const std::string& where);

  std::size_t size() const { return graphs_.size(); }
  // Also takes the placements that it compares.
  Result<double> score(std::span<const Matrix> weights) override;

  // The number of a graph's levels (open_levels()).
  std::size_t levels(std::size_t graph) const { return graphs_[graph].levels.size(); }
  // A level at its first placement, or at the best one of the graph if that is possible there.
  PlacementEnvironment& environment(std::size_t graph, std::size_t level, bool from_best);
  // Takes a placement of a level if it is the best of the graph so far.
  void take(std::size_t graph, std::size_t level, const parallel::GroupDevices& devices);

  // The best placement of the groups of each graph.
  std::vector<parallel::GroupDevices> placements() const;
  // Takes the placements of an earlier training on the same graphs; others have no effect.
  void restore(std::span<const parallel::GroupDevices> placements);

 private:
  struct Graph {
    PlacementEnvironment& groups() const { return *levels.back(); }
    PlacementLevels levels;
    std::vector<parallel::GroupDevices> first;  // of each level
    parallel::GroupDevices best;                // of the groups
    double first_value = 0;
    std::pair<double, double> best_value;  // and its potential
  };
  std::vector<Graph> graphs_;
};

}  // namespace xflow::policy
