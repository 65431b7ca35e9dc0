// Draws some of the placements of a step of training, and differentiates what the network says of them.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <span>
#include <vector>

#include "src/parallel/random_numbers.h"
#include "src/policy/graph_gradient.h"
#include "src/policy/sequence_network.h"
#include "src/policy/step_environment.h"

namespace xflow::policy {

// A placement that is drawn: by the network in a window of the groups, and elsewhere as in the best
// placement. The first group of a window that is not the whole sequence goes to a random device.
struct SequenceRow {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  bool is_whole = true;
  parallel::RandomNumbers random;
  GroupPlaces drawn = {};

  bool contains(std::uint32_t group) const { return begin <= group && group < end; }
};

// Has a network of its own, so that several samplers can work at once.
class SequenceSampler {
 public:
  // Errors: internal for a network without derivatives.
  static Result<SequenceSampler> of(const StepEnvironment& environment, const SequenceSizes& sizes, std::span<const Matrix> weights);

  // Draws the placements of rows, with these weights.
  void draw(const StepEnvironment& environment, std::span<const Matrix> weights, std::vector<SequenceRow> rows, const GroupPlaces& best);
  std::span<const SequenceRow> rows() const { return rows_; }

  // Adds the derivatives of the loss by the weights to `sums`. `advantages` are those of the rows that were
  // drawn last. A row whose window is empty is an example of the best placement: all its groups count.
  void differentiate(std::span<const double> advantages, double entropy, double scale, std::span<Matrix> sums);

 private:
  explicit SequenceSampler(const SequenceSizes& sizes) : sizes_(sizes) {}
  Matrix seen_of(const StepEnvironment& environment, std::uint32_t group, std::span<const std::vector<double>> loads) const;

  SequenceSizes sizes_;
  std::vector<GraphGradient> graphs_;  // encoder, decision, whole
  std::vector<Matrix> groups_;         // features, by group
  std::vector<SequenceRow> rows_;
  std::vector<Matrix> seen_;  // of the last draw
};

}  // namespace xflow::policy
