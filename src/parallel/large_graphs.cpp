#include "src/parallel/large_graphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/parallel/random_numbers.h"

namespace xflow::parallel {
namespace {

using NetworkNode = std::uint32_t;

constexpr double kFloatBytes = 4;
constexpr std::uint32_t kStepsOfWeights = 8;  // that share them

// Nodes with their work. What is added beyond the last node is left out.
class NetworkMaker {
 public:
  explicit NetworkMaker(std::uint32_t nodes) : most_(nodes) {}

  bool is_full() const { return work_.size() == most_; }

  // An operation for each element of the result and operand.
  NetworkNode pointwise(double elements, std::vector<NetworkNode> operands) {
    const double count = elements * static_cast<double>(operands.size());
    return add({count, elements, 0, 0, true}, std::move(operands));
  }
  // Of matrices. The weights are resident only in the first of the steps that share them.
  NetworkNode product(double rows, double terms, double columns, bool has_weights, std::vector<NetworkNode> operands) {
    const double weights = terms * columns;
    return add({2 * rows * weights, rows * columns, weights, has_weights ? weights : 0, false}, std::move(operands));
  }

  LargeGraph on(const DeviceCluster& cluster) const;

 private:
  struct NetworkWork {
    double operations = 0;
    double elements = 0;  // of the result
    double weights = 0;   // elements that are read
    double resident = 0;  // elements
    bool is_pointwise = false;
  };

  NetworkNode add(const NetworkWork& work, std::vector<NetworkNode> operands) {
    if (is_full()) return most_ - 1;
    std::ranges::sort(operands);
    const auto repeated = std::unique(operands.begin(), operands.end());
    operands.erase(repeated, operands.end());
    work_.push_back(work);
    operands_.push_back(std::move(operands));
    return static_cast<NetworkNode>(work_.size() - 1);
  }

  const std::uint32_t most_;
  std::vector<NetworkWork> work_;
  std::vector<std::vector<NetworkNode>> operands_;
};

LargeGraph NetworkMaker::on(const DeviceCluster& cluster) const {
  LargeGraph graph;
  for (NetworkNode node = 0; node < work_.size(); ++node) {
    const NetworkWork& work = work_[node];
    double moved = kFloatBytes * (work.elements + work.weights);
    for (const NetworkNode operand : operands_[node]) {
      moved += kFloatBytes * work_[operand].elements;
      graph.workload.tensors[operand].readers.push_back(node);
    }
    WorkloadNode own{{}, kFloatBytes * work.resident};
    for (const ClusterDevice& device : cluster.devices) own.seconds.push_back(device.rates.seconds(work.operations, moved));
    graph.workload.nodes.push_back(std::move(own));
    graph.workload.tensors.push_back({node, kFloatBytes * work.elements, {}});
  }
  const DeviceRates& rates = cluster.devices[0].rates;
  for (const WorkloadTensor& tensor : graph.workload.tensors) {
    if (tensor.readers.size() != 1 || !work_[tensor.readers[0]].is_pointwise) continue;
    graph.fusions.push_back({tensor.source, tensor.readers[0], rates.launch + 2 * tensor.bytes / rates.bandwidth});
  }
  return graph;
}

enum class CellKind : std::uint8_t { gated, residual, attentive };

// A layer of a tower: a chain of cells, one for each step.
struct CellChain {
  CellKind kind = CellKind::gated;
  double rows = 0;
  double width = 0;
  std::uint32_t tail = 0;           // pointwise nodes at the end of a cell
  double skips = 0;                 // probability
  std::vector<NetworkNode> states;  // one for each step, after the input
};

class UnrolledNetwork {
 public:
  UnrolledNetwork(std::uint32_t nodes, std::uint64_t seed) : maker_(nodes), random_(seed) {
    constexpr std::uint32_t kLeastChains = 4;
    constexpr std::uint32_t kChains = 24;
    constexpr std::uint32_t kNodesOfChain = 40;
    const std::uint32_t count = std::clamp(nodes / kNodesOfChain, kLeastChains, kChains + random_.below(kChains + 1));
    for (std::uint32_t chain = 0; chain < count;) {
      const std::uint32_t layers = std::min(2 + random_.below(4), count - chain);
      towers_.push_back({});
      const double rows = 512.0 * (1U << random_.below(3));
      const double width = 512.0 * (1 + random_.below(3));
      for (std::uint32_t layer = 0; layer < layers; ++layer, ++chain) towers_.back().push_back(new_chain(rows, width));
    }
  }

  LargeGraph make(const DeviceCluster& cluster) {
    for (auto& tower : towers_)
      for (CellChain& chain : tower) chain.states.push_back(maker_.pointwise(chain.rows * chain.width, {}));
    constexpr double kExchanges = 0.3;
    for (std::uint32_t step = 0; !maker_.is_full(); ++step) {
      for (auto& tower : towers_)
        for (std::size_t layer = 0; layer < tower.size(); ++layer) add_cell(tower, layer, step);
      if (random_.unit() < kExchanges) exchange();
    }
    return maker_.on(cluster);
  }

 private:
  CellChain new_chain(double rows, double width) {
    constexpr double kMostSkips = 0.8;
    CellChain chain;
    chain.kind = static_cast<CellKind>(random_.below(3));
    chain.rows = rows;
    chain.width = width;
    chain.tail = random_.below(4);
    chain.skips = kMostSkips * random_.unit();
    return chain;
  }

  void add_cell(std::vector<CellChain>& tower, std::size_t layer, std::uint32_t step) {
    CellChain& own = tower[layer];
    std::vector<NetworkNode> read = {own.states.back()};
    if (layer > 0) read.push_back(tower[layer - 1].states.back());
    const bool has_weights = step % kStepsOfWeights == 0;
    NetworkNode result = 0;
    switch (own.kind) {
      case CellKind::gated:
        result = gated(own, has_weights, read);
        break;
      case CellKind::residual:
        result = residual(own, has_weights, read);
        break;
      case CellKind::attentive:
        result = attentive(own, has_weights, read);
        break;
    }
    const double elements = own.rows * own.width;
    for (std::uint32_t k = 0; k < own.tail; ++k) {
      const bool reads_state = random_.unit() < own.skips;
      result = maker_.pointwise(elements, reads_state ? std::vector{result, own.states.back()} : std::vector{result});
    }
    if (random_.unit() < own.skips) {
      const std::uint32_t back = random_.below(static_cast<std::uint32_t>(std::min<std::size_t>(own.states.size(), kStepsOfWeights)));
      result = maker_.pointwise(elements, {result, own.states[own.states.size() - 1 - back]});
    }
    own.states.push_back(result);
  }

  // One product whose columns are gates; a node joins their branches.
  NetworkNode gated(const CellChain& own, bool has_weights, const std::vector<NetworkNode>& read) {
    constexpr std::uint32_t kGates = 4;
    const double elements = own.rows * own.width;
    const NetworkNode gates = maker_.product(own.rows, static_cast<double>(read.size()) * own.width, kGates * own.width, has_weights, read);
    std::vector<NetworkNode> joined;
    for (std::uint32_t gate = 0; gate < kGates; ++gate) {
      NetworkNode branch = maker_.pointwise(elements, {gates});
      if (gate % 2 == 0) branch = maker_.pointwise(elements, {branch, own.states.back()});
      joined.push_back(branch);
    }
    return maker_.pointwise(elements, joined);
  }

  // Two products with an addition of what they read.
  NetworkNode residual(const CellChain& own, bool has_weights, const std::vector<NetworkNode>& read) {
    const double elements = own.rows * own.width;
    const NetworkNode sum = read.size() == 1 ? read[0] : maker_.pointwise(elements, read);
    const NetworkNode wide = maker_.product(own.rows, own.width, 2 * own.width, has_weights, {sum});
    const NetworkNode biased = maker_.pointwise(2 * elements, {wide});
    const NetworkNode active = maker_.pointwise(2 * elements, {biased});
    const NetworkNode narrow = maker_.product(own.rows, 2 * own.width, own.width, has_weights, {active});
    return maker_.pointwise(elements, {maker_.pointwise(elements, {narrow}), sum});
  }

  // Three products beside each other, each with pointwise nodes, and one that combines them.
  NetworkNode attentive(const CellChain& own, bool has_weights, const std::vector<NetworkNode>& read) {
    constexpr std::uint32_t kProducts = 3;
    const double elements = own.rows * own.width;
    std::vector<NetworkNode> combined;
    for (std::uint32_t k = 0; k < kProducts; ++k) {
      const NetworkNode from = read[k % read.size()];
      const NetworkNode part = maker_.product(own.rows, own.width, own.width, has_weights, {from});
      combined.push_back(maker_.pointwise(elements, {k == 0 ? maker_.pointwise(elements, {part}) : part}));
    }
    const NetworkNode mixed = maker_.pointwise(elements, combined);
    const NetworkNode out = maker_.product(own.rows, own.width, own.width, has_weights, {mixed});
    return maker_.pointwise(elements, {out, read[0]});
  }

  // A node reads the states of some towers, and each of these towers reads its result.
  void exchange() {
    constexpr std::uint32_t kMostTowers = 6;
    std::vector<std::uint32_t> chosen(kMostTowers);
    for (std::uint32_t& tower : chosen) tower = random_.below(static_cast<std::uint32_t>(towers_.size()));
    std::ranges::sort(chosen);
    const auto repeated = std::unique(chosen.begin(), chosen.end());
    chosen.erase(repeated, chosen.end());
    std::vector<NetworkNode> read;
    double elements = 0;
    for (const std::uint32_t tower : chosen) {
      const CellChain& top = towers_[tower].back();
      read.push_back(top.states.back());
      elements = std::max(elements, top.rows * top.width);
    }
    const NetworkNode joined = maker_.pointwise(elements, read);
    for (const std::uint32_t tower : chosen) {
      CellChain& bottom = towers_[tower].front();
      bottom.states.push_back(maker_.pointwise(bottom.rows * bottom.width, {joined, bottom.states.back()}));
    }
  }

  NetworkMaker maker_;
  RandomNumbers random_;
  std::vector<std::vector<CellChain>> towers_;
};

}  // namespace

Result<LargeGraph> large_graph(std::uint32_t nodes, std::uint64_t seed, const DeviceCluster& cluster) {
  if (nodes < kLeastLargeGraph || nodes > kMostLargeGraph)
    return fail(ErrorCode::invalid_argument,
                fmt::format("a large graph has from {} to {} nodes, not {}", kLeastLargeGraph, kMostLargeGraph, nodes));
  for (const ClusterDevice& device : cluster.devices)
    if (device.source != TimeSource::roofline)
      return fail(ErrorCode::invalid_argument, fmt::format("large graphs need a roofline of device '{}'", device.name), cluster.name);
  return UnrolledNetwork(nodes, seed).make(cluster);
}

}  // namespace xflow::parallel
