// What GO sees of a graph, whatever its plan is.
//
// GO is the method of Zhou et al., Transferable Graph Optimizers for ML Compilers, NeurIPS 2020
// (docs/placement.md, *GO*).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/parallel/ordered_step.h"
#include "src/policy/matrix.h"

namespace xflow::policy {

// A neighbour of a node, and the bytes of the tensor between them.
struct GoEdge {
  std::uint32_t node = 0;
  double bytes = 0;
};

// Features of the nodes of a graph: those of the node, and means over a sample of at most kSampled parents
// and children, and over samples of their parents and children, as in neighbourhood sampling (Hamilton et
// al., Inductive Representation Learning on Large Graphs, 2017).
class GoGraph {
 public:
  static constexpr std::size_t kOwnFeatures = 14;
  static constexpr std::size_t kFeatures = 5 * kOwnFeatures;
  static constexpr std::uint32_t kSampled = 8;
  static constexpr std::uint32_t kNoChoice = UINT32_MAX;

  // The arguments of the problem outlive it. `seed`: of the samples. The problem passes check_workload and
  // check_fusions.
  GoGraph(const parallel::OrderedProblem& problem, std::uint64_t seed);

  const parallel::OrderedProblem& problem() const { return problem_; }
  std::uint32_t nodes() const { return static_cast<std::uint32_t>(problem_.workload.nodes.size()); }
  std::uint32_t devices() const { return problem_.cluster.size(); }
  // A row for each node, free of names and scale.
  const Matrix& features() const { return features_; }
  // Tensors that a node reads, and readers of its tensors.
  std::span<const GoEdge> operands(std::uint32_t node) const { return edges_of(first_operand_, operands_, node); }
  std::span<const GoEdge> readers(std::uint32_t node) const { return edges_of(first_reader_, readers_, node); }
  // Upward ranks, as in upward_ranks().
  std::span<const double> ranks() const { return ranks_; }
  // The number of the fusion of a node into another one, or kNoChoice.
  std::uint32_t choice_of(std::uint32_t node) const { return choice_of_[node]; }
  // Seconds of a node, a mean over nodes and devices.
  double mean_seconds() const { return mean_seconds_; }
  // Seconds of a transfer, a mean over pairs of devices.
  double transfer_seconds(double bytes) const { return latency_ + bytes * seconds_of_byte_; }

 private:
  static std::span<const GoEdge> edges_of(const std::vector<std::uint32_t>& first, const std::vector<GoEdge>& edges, std::uint32_t node) {
    return std::span(edges).subspan(first[node], first[node + 1] - first[node]);
  }
  void list_edges();
  void describe_nodes();
  void add_means(std::uint64_t seed);

  parallel::OrderedProblem problem_;
  std::vector<std::uint32_t> first_operand_;  // of each node, and the end
  std::vector<GoEdge> operands_;
  std::vector<std::uint32_t> first_reader_;
  std::vector<GoEdge> readers_;
  std::vector<double> ranks_;
  std::vector<std::uint32_t> choice_of_;
  double mean_seconds_ = 0;
  double latency_ = 0;
  double seconds_of_byte_ = 0;
  Matrix features_;
};

}  // namespace xflow::policy
