// The network of GO, as a graph of xflow.
//
// Embeddings of nodes are multiplied by a gate that the whole graph gives (feature modulation), then nodes
// of a segment attend to those of their segment and of the one before (Dai et al., Transformer-XL: Attentive
// Language Models beyond a Fixed-Length Context, 2019). Three heads score devices, changes of priorities and
// fusions of all nodes at once.
#pragma once

#include <xflow/graph.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/policy/go_plan_view.h"
#include "src/policy/graph_gradient.h"
#include "src/policy/matrix.h"
#include "src/policy/placement_network.h"

namespace xflow::policy {

inline constexpr std::size_t kGoWidth = 32;  // of an embedding
inline constexpr std::size_t kGoKeys = 16;   // of queries, keys and values, and of what scores a device
// By how many steps a priority changes, for each score of an order.
inline constexpr double kGoOrders[] = {-4, -1, 0, 1, 4};
inline constexpr std::size_t kGoOrderCount = std::size(kGoOrders);
inline constexpr std::uint32_t kGoKeepOrder = 2;
inline constexpr std::size_t kGoFusionCount = 2;  // no, yes

// The weights of the network, in the order of all lists of them.
std::span<const WeightSize> go_weights();

// Weights to begin with, from a seed: they prefer the plan as it is.
std::vector<Matrix> first_go_weights(std::uint64_t seed);

// Inputs are matrices of float32; N is the number of nodes of a segment, R that of its nodes times devices
// and M that of nodes of the segment before.
//   "nodes" [N, GoPlanView::kNodeFeatures], "summary" [1, GoPlanView::kNodeFeatures], "memory" [M, kGoWidth],
//   "devices" [R, GoPlanView::kDeviceFeatures], "expand" [R, N]: 1 for the node of a row
//   -> "places" [R, 1], "orders" [N, kGoOrderCount], "fusions" [N, kGoFusionCount],
//      "embeddings" [N, kGoWidth], the memory of the next segment
Result<Graph> go_graph(std::span<const Matrix> weights);

// Outputs of the network for a segment, or derivatives by them.
struct GoScores {
  Matrix places;
  Matrix orders;
  Matrix fusions;
};

// Computes the network by loops in a fixed order.
class GoNetwork {
 public:
  // Errors: internal for a network without derivatives.
  static Result<GoNetwork> of(std::span<const Matrix> weights);

  std::span<Matrix> weights() { return gradient_.weights(); }
  // `memory`: embeddings of the segment before; it becomes those of this segment. Empty for the first one.
  GoScores compute(const GoSegment& segment, const Matrix& summary, Matrix& memory);
  // Adds derivatives by the weights to `sums`. The arguments of the last compute() still live.
  void differentiate(GoScores by_scores, std::span<Matrix> sums);

 private:
  explicit GoNetwork(GraphGradient gradient) : gradient_(std::move(gradient)) {}

  GraphGradient gradient_;
  Matrix expand_;
  Matrix memory_;  // of the last compute()
  std::size_t nodes_ = 0;
};

}  // namespace xflow::policy
