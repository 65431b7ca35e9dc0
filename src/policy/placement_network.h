// The network of a policy that places one group at a time, as graphs of xflow.
//
// Groups have embeddings that messages from their parents and children change, as in Placeto (Addanki et
// al., Learning Generalizable Device Placement Algorithms for Distributed Machine Learning, NeurIPS 2019).
// A device that a group can go to is scored from what the environment says of it, and from the embeddings
// of the group, of its parents and children there, and of all groups there. All devices have the same
// weights, so that a policy is for any number of them.
#pragma once

#include <xflow/graph.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/policy/matrix.h"

namespace xflow::policy {

// A weight of the network. A bias has one row.
struct WeightSize {
  const char* name;
  std::size_t rows;
  std::size_t columns;
};
std::span<const WeightSize> network_weights();

// Weights to begin with, from a seed.
std::vector<Matrix> first_weights(std::uint64_t seed);

// Inputs of the three graphs are matrices of float32; N is the number of groups and M that of rows to score.
// - encoder: "groups" [N, 11], "parents" [N, N], "children" [N, N] -> "embeddings" [N, 16]
// - scorer: "embeddings" [N, 16], "devices" [M, 13], "own", "parents_there", "children_there" and
//   "others_there" [M, N] -> "scores" [M, 1]
// - whole: the inputs of both but for the embeddings -> "scores"
Result<Graph> encoder_graph(std::span<const Matrix> weights);
Result<Graph> scorer_graph(std::span<const Matrix> weights);
Result<Graph> whole_graph(std::span<const Matrix> weights);

}  // namespace xflow::policy
