// The graphs of a training.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/parallel/cluster.h"
#include "src/parallel/instance.h"

namespace xflow::policy {

// A sequence of graphs: generated ones, which do not end, or those of files in turn.
class TrainingGraphs {
 public:
  // `source` and `cluster` as of TrainPolicyOptions. Errors: those of train_policy().
  static Result<TrainingGraphs> open(const std::string& source, const std::string& cluster);

  // Number of graphs of files; 0 for generated ones.
  std::size_t given() const { return instances_.size(); }

  // A graph of a training.
  Result<parallel::PlacementInstance> graph(std::uint64_t number, std::uint64_t seed) const;
  // Graphs for validation: generated ones, which no training has, or at most kMostValidated of the files.
  Result<std::vector<parallel::PlacementInstance>> validation(std::uint64_t seed) const;

 private:
  std::vector<std::string> families_;
  std::optional<parallel::DeviceCluster> cluster_;  // of families
  std::vector<parallel::PlacementInstance> instances_;
};

}  // namespace xflow::policy
