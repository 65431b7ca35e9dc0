// A network that gives devices to a sequence of groups, as graphs of xflow: a recurrent encoder reads all
// groups, and a decoder with attention over them chooses a device for one after the other, as in Mirhoseini
// et al., Device Placement Optimization with Reinforcement Learning, ICML 2017. Both are LSTMs (Hochreiter
// and Schmidhuber, 1997), the attention is that of Luong et al. (2015).
#pragma once

#include <xflow/graph.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/policy/matrix.h"

namespace xflow::policy {

struct SequenceSizes {
  std::size_t features = 0;  // of a group
  std::size_t devices = 0;
  std::size_t hidden = 32;
};

// Weights to begin with, from a seed: first scores prefer the devices of what a group reads.
std::vector<Matrix> first_sequence_weights(const SequenceSizes& sizes, std::uint64_t seed);

// What a decision sees beside its group, kDecisionFeatures columns for each device: 1 for the device of the
// group before, the part of what the group reads that is there, and the part of the work so far.
inline constexpr std::size_t kDecisionFeatures = 3;

// Inputs are matrices of float32. N is the number of groups, B that of placements that are drawn side by
// side as a whole, and C that of windows: parts of the sequence, all of one length W, that are drawn side by
// side and may begin at different groups. All graphs have all weights, in the same order.
// - encoder: "group 0" to "group N-1" [1, features] -> "memory" [N, hidden], "state" and "cell" [1, hidden]
// - decision: "group" [B, features], "memory", "seen" [B, 3 devices], "state" and "cell" [B, hidden]
//   -> "scores" [B, devices], "next state" and "next cell" [B, hidden]
// - training: the groups, "seen 0" to "seen N-1", "state" and "cell" [C, hidden] before the windows,
//   "window group 0" to "window group W-1" [C, features], "window seen 0" to "window seen W-1"
//   -> "scores 0" to "scores N-1", "window scores 0" to "window scores W-1"
Result<Graph> sequence_encoder(const SequenceSizes& sizes, std::span<const Matrix> weights, std::size_t groups);
Result<Graph> sequence_decision(const SequenceSizes& sizes, std::span<const Matrix> weights);
Result<Graph> sequence_training(const SequenceSizes& sizes, std::span<const Matrix> weights, std::size_t groups, std::size_t window);

}  // namespace xflow::policy
