#include "src/policy/go_graph.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "src/parallel/ordered_starts.h"
#include "src/parallel/random_numbers.h"

namespace xflow::policy {
namespace {

double mean_of_values(std::span<const double> values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// log(1 + value / unit), 0 for no unit.
float logarithm_of(double value, double unit) { return unit > 0 ? static_cast<float>(std::log1p(std::max(value, 0.0) / unit)) : 0; }

float share_of(double value, double whole) { return whole > 0 ? static_cast<float>(value / whole) : 0; }

// The longest time from the begin of the step to that of each node, in the units of upward_ranks().
std::vector<double> downward_ranks(const GoGraph& graph, std::span<const double> seconds) {
  std::vector<double> result(graph.nodes(), 0);
  for (std::uint32_t node = 0; node < graph.nodes(); ++node) {
    for (const GoEdge& edge : graph.operands(node))
      result[node] = std::max(result[node], result[edge.node] + seconds[edge.node] + graph.transfer_seconds(edge.bytes));
  }
  return result;
}

// Draws at most GoGraph::kSampled edges.
std::span<const GoEdge> sampled_edges(std::span<const GoEdge> edges, std::vector<GoEdge>& buffer, parallel::RandomNumbers& random) {
  if (edges.size() <= GoGraph::kSampled) return edges;
  buffer.assign(edges.begin(), edges.end());
  for (std::uint32_t k = 0; k < GoGraph::kSampled; ++k)
    std::swap(buffer[k], buffer[k + random.below(static_cast<std::uint32_t>(buffer.size()) - k)]);
  return std::span<const GoEdge>(buffer).first(GoGraph::kSampled);
}

}  // namespace

GoGraph::GoGraph(const parallel::OrderedProblem& problem, std::uint64_t seed)
    : problem_(problem),
      ranks_(parallel::upward_ranks(problem.workload, problem.cluster)),
      choice_of_(problem.workload.nodes.size(), kNoChoice),
      features_(problem.workload.nodes.size(), kFeatures) {
  for (std::uint32_t choice = 0; choice < problem.fusions.size(); ++choice) choice_of_[problem.fusions[choice].node] = choice;
  double pairs = 0;
  for (std::uint32_t from = 0; from < devices(); ++from) {
    for (std::uint32_t to = 0; to < devices(); ++to) {
      if (from == to) continue;
      const parallel::LinkRates& link = problem.cluster.link(from, to);
      latency_ += link.latency;
      seconds_of_byte_ += 1 / link.bandwidth;
      ++pairs;
    }
  }
  if (pairs > 0) {
    latency_ /= pairs;
    seconds_of_byte_ /= pairs;
  }
  list_edges();
  describe_nodes();
  add_means(seed);
}

void GoGraph::list_edges() {
  first_operand_.assign(nodes() + 1, 0);
  first_reader_.assign(nodes() + 1, 0);
  for (const parallel::WorkloadTensor& tensor : problem_.workload.tensors) {
    first_reader_[tensor.source + 1] += static_cast<std::uint32_t>(tensor.readers.size());
    for (const std::uint32_t reader : tensor.readers) ++first_operand_[reader + 1];
  }
  std::partial_sum(first_operand_.begin(), first_operand_.end(), first_operand_.begin());
  std::partial_sum(first_reader_.begin(), first_reader_.end(), first_reader_.begin());
  operands_.resize(first_operand_.back());
  readers_.resize(first_reader_.back());
  std::vector<std::uint32_t> next_operand = first_operand_;
  std::vector<std::uint32_t> next_reader = first_reader_;
  for (const parallel::WorkloadTensor& tensor : problem_.workload.tensors) {
    for (const std::uint32_t reader : tensor.readers) {
      operands_[next_operand[reader]++] = {tensor.source, tensor.bytes};
      readers_[next_reader[tensor.source]++] = {reader, tensor.bytes};
    }
  }
}

void GoGraph::describe_nodes() {
  std::vector<double> seconds(nodes());
  double bytes = 0;
  for (std::uint32_t node = 0; node < nodes(); ++node) {
    seconds[node] = mean_of_values(problem_.workload.nodes[node].seconds);
    bytes += problem_.workload.nodes[node].bytes;
  }
  mean_seconds_ = mean_of_values(seconds);
  const std::vector<double> downward = downward_ranks(*this, seconds);
  const double longest = ranks_.empty() ? 0 : *std::ranges::max_element(ranks_);
  const double mean_bytes = bytes / std::max(1.0, static_cast<double>(nodes()));
  std::vector<std::uint32_t> fused_into(nodes(), 0);
  for (const parallel::FusionChoice& choice : problem_.fusions) ++fused_into[choice.into];
  const auto transfers = [&](std::span<const GoEdge> edges) {
    double sum = 0;
    for (const GoEdge& edge : edges) sum += transfer_seconds(edge.bytes);
    return logarithm_of(sum, mean_seconds_);
  };
  for (std::uint32_t node = 0; node < nodes(); ++node) {
    const double saved = choice_of_[node] == kNoChoice ? 0 : problem_.fusions[choice_of_[node]].saved;
    const float own[kOwnFeatures] = {logarithm_of(seconds[node], mean_seconds_),
                                     transfers(operands(node)),
                                     transfers(readers(node)),
                                     logarithm_of(problem_.workload.nodes[node].bytes, mean_bytes),
                                     share_of(ranks_[node], longest),
                                     share_of(downward[node], longest),
                                     share_of(longest - ranks_[node] - downward[node], longest),
                                     logarithm_of(static_cast<double>(operands(node).size()), 1),
                                     logarithm_of(static_cast<double>(readers(node).size()), 1),
                                     choice_of_[node] == kNoChoice ? 0.0F : 1.0F,
                                     logarithm_of(saved, mean_seconds_),
                                     std::min(2.0F, share_of(saved, seconds[node])),
                                     logarithm_of(fused_into[node], 1),
                                     share_of(node, nodes())};
    std::ranges::copy(own, features_.row(node).begin());
  }
}

void GoGraph::add_means(std::uint64_t seed) {
  parallel::RandomNumbers random(seed);
  std::vector<GoEdge> buffer;
  // Means of the block of columns `from` over neighbours, to the block `to`.
  const auto add = [&](std::uint32_t node, std::span<const GoEdge> edges, std::size_t from, std::size_t to) {
    const std::span<const GoEdge> sample = sampled_edges(edges, buffer, random);
    const std::span<float> sums = features_.row(node).subspan(to * kOwnFeatures, kOwnFeatures);
    for (const GoEdge& edge : sample) {
      const std::span<const float> values = features_.row(edge.node).subspan(from * kOwnFeatures, kOwnFeatures);
      for (std::size_t k = 0; k < kOwnFeatures; ++k) sums[k] += values[k] / static_cast<float>(sample.size());
    }
  };
  for (std::uint32_t node = 0; node < nodes(); ++node) {
    add(node, operands(node), 0, 1);
    add(node, readers(node), 0, 2);
  }
  for (std::uint32_t node = 0; node < nodes(); ++node) {
    add(node, operands(node), 1, 3);
    add(node, readers(node), 2, 4);
  }
}

}  // namespace xflow::policy
