// Draws some of the placements of a step of training, and differentiates what the network says of them.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <optional>
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
  std::optional<std::uint32_t> begin;  // of a window; nullopt: the whole sequence
  parallel::RandomNumbers random;
  GroupPlaces drawn = {};
};

// Has a network of its own, so that several samplers can work at once. It follows the best placement through
// the whole sequence once for each draw, so that a window is decided from the state of the decoder before it
// on; a derivative does not go back beyond the window.
class SequenceSampler {
 public:
  // `window`: the length of windows, at most the number of groups. Errors: internal for a network without
  // derivatives.
  static Result<SequenceSampler> of(const StepEnvironment& environment, const SequenceSizes& sizes, std::span<const Matrix> weights,
                                    std::uint32_t window);

  // Draws the placements of rows, with these weights. One row at least is a window, and all windows end with
  // the sequence or before.
  void draw(const StepEnvironment& environment, std::span<const Matrix> weights, std::vector<SequenceRow> rows, const GroupPlaces& best);
  std::span<const SequenceRow> rows() const { return rows_; }

  // Adds the derivatives of the loss by the weights to `sums`. `advantages` are those of the rows that were
  // drawn last, and `imitation` that of the best placement.
  void differentiate(std::span<const double> advantages, double imitation, double entropy, double scale, std::span<Matrix> sums);

 private:
  struct State {
    Matrix state;
    Matrix cell;
  };
  // Rows that the network decides side by side: whole sequences, or windows.
  struct Batch {
    std::vector<std::size_t> rows;
    std::vector<std::vector<double>> loads;  // the part of all work that each device has before a decision, by row
    State first;                             // before the first decision
    std::vector<Matrix> groups;              // features, by decision
    std::vector<Matrix> seen;                // by decision
  };

  SequenceSampler(const SequenceSizes& sizes, std::uint32_t window) : sizes_(sizes), window_(window) {}
  // A decision for each row of a batch, from this state on, which becomes the next one.
  void decide(const StepEnvironment& environment, const Matrix& memory, std::uint32_t number, Batch& batch, State& state);
  void draw_whole(const StepEnvironment& environment, const Matrix& memory);
  void draw_windows(const StepEnvironment& environment, const Matrix& memory);
  void see(const StepEnvironment& environment, std::uint32_t group, const GroupPlaces& drawn, std::span<const double> loads,
           std::span<float> seen) const;

  SequenceSizes sizes_;
  std::uint32_t window_;
  std::vector<GraphGradient> graphs_;  // encoder, decision, training
  std::vector<Matrix> groups_;         // features, by group
  double work_ = 0;                    // of all groups on the first device
  std::vector<SequenceRow> rows_;      // the last one is the best placement
  Batch whole_;
  Batch windows_;
  std::vector<State> followed_;             // before each group, of the best placement
  std::vector<std::vector<double>> spent_;  // likewise, its loads
};

}  // namespace xflow::policy
