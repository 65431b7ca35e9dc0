#include "src/policy/go_network.h"

#include <array>
#include <cmath>
#include <utility>

#include "src/parallel/random_numbers.h"

namespace xflow::policy {
namespace {

// In the order of all lists of weights.
enum GoWeight : std::size_t {
  node_in,
  node_in_bias,
  node_hidden,
  node_hidden_bias,
  modulation,
  modulation_bias,
  query,
  key,
  value_of_key,
  attended,
  place_node,
  place_device,
  place_bias,
  place_out,
  place_direct,
  order_out,
  order_direct,
  order_bias,
  fusion_out,
  fusion_direct,
  fusion_bias,
  go_weight_count,
};

constexpr std::array<WeightSize, go_weight_count> kGoWeights = {{
    {"node_in", GoPlanView::kNodeFeatures, kGoWidth},
    {"node_in_bias", 1, kGoWidth},
    {"node_hidden", kGoWidth, kGoWidth},
    {"node_hidden_bias", 1, kGoWidth},
    {"modulation", GoPlanView::kNodeFeatures, kGoWidth},
    {"modulation_bias", 1, kGoWidth},
    {"query", kGoWidth, kGoKeys},
    {"key", kGoWidth, kGoKeys},
    {"value", kGoWidth, kGoKeys},
    {"attended", kGoKeys, kGoWidth},
    {"place_node", kGoWidth, kGoKeys},
    {"place_device", GoPlanView::kDeviceFeatures, kGoKeys},
    {"place_bias", 1, kGoKeys},
    {"place_out", kGoKeys, 1},
    {"place_direct", GoPlanView::kDeviceFeatures, 1},
    {"order_out", kGoWidth, kGoOrderCount},
    {"order_direct", GoPlanView::kNodeFeatures, kGoOrderCount},
    {"order_bias", 1, kGoOrderCount},
    {"fusion_out", kGoWidth, kGoFusionCount},
    {"fusion_direct", GoPlanView::kNodeFeatures, kGoFusionCount},
    {"fusion_bias", 1, kGoFusionCount},
}};

class GoBuilder {
 public:
  explicit GoBuilder(std::span<const Matrix> weights) {
    for (std::size_t k = 0; k < go_weight_count; ++k) {
      std::vector<std::int64_t> dims = {static_cast<std::int64_t>(weights[k].columns)};
      if (kGoWeights[k].rows != 1) dims.insert(dims.begin(), static_cast<std::int64_t>(weights[k].rows));
      weights_[k] = builder_.weight(DataType::float32, dims, std::as_bytes(std::span(weights[k].values)));
    }
  }

  Result<Graph> build() {
    const Value nodes = input("nodes", "N", GoPlanView::kNodeFeatures);
    const Value summary = input("summary", 1, GoPlanView::kNodeFeatures);
    const Value memory = input("memory", "M", kGoWidth);
    const Value devices = input("devices", "R", GoPlanView::kDeviceFeatures);
    const Value expand = input("expand", "R", "N");
    const Value embedded = embed(nodes, summary);
    const Value attending = attend(embedded, memory);
    const Value hidden = apply("add", apply("matmul", expand, product(attending, place_node)), product(devices, place_device));
    const Value places = apply("add", product(unary("relu", sum(hidden, place_bias)), place_out), product(devices, place_direct));
    builder_.output("places", places);
    builder_.output("orders", sum(apply("add", product(attending, order_out), product(nodes, order_direct)), order_bias));
    builder_.output("fusions", sum(apply("add", product(attending, fusion_out), product(nodes, fusion_direct)), fusion_bias));
    builder_.output("embeddings", embedded);
    return builder_.build();
  }

 private:
  Value input(const char* name, Dimension rows, Dimension columns) {
    return builder_.input(name, DataType::float32, {std::move(rows), std::move(columns)});
  }
  Value apply(const char* op, Value left, Value right) { return builder_.apply(op, {left, right}); }
  Value unary(const char* op, Value value) { return builder_.apply(op, {value}); }
  Value product(Value left, std::size_t weight) { return apply("matmul", left, weights_[weight]); }
  Value sum(Value left, std::size_t weight) { return apply("add", left, weights_[weight]); }

  Value embed(Value nodes, Value summary) {
    const Value first = unary("relu", sum(product(nodes, node_in), node_in_bias));
    const Value second = unary("relu", sum(product(first, node_hidden), node_hidden_bias));
    return apply("mul", second, unary("sigmoid", sum(product(summary, modulation), modulation_bias)));
  }
  // embedded + softmax(queries keys) values, where keys are of the memory and of the segment.
  Value attend(Value embedded, Value memory) {
    const Value seen = builder_.apply("concat", {memory, embedded}, {{"axis", 0}});
    const Value keys = builder_.apply("transpose", {product(seen, key)}, {{"perm", {1, 0}}});
    const Value shares = builder_.apply("softmax", {apply("matmul", product(embedded, query), keys)}, {{"axis", 1}});
    const Value read = apply("matmul", shares, product(seen, value_of_key));
    return apply("add", embedded, product(read, attended));
  }

  GraphBuilder builder_;
  std::array<Value, go_weight_count> weights_{};
};

}  // namespace

std::span<const WeightSize> go_weights() { return kGoWeights; }

std::vector<Matrix> first_go_weights(std::uint64_t seed) {
  // A node that changes its device, priority or fusion: about one of 60, 100 and 60.
  constexpr float kStays = 6;
  constexpr float kCriticalMoves = 2;
  constexpr float kKeepsOrder = 6;
  constexpr float kKeepsFusion = 2;
  constexpr double kOfOutputs = 0.1;
  parallel::RandomNumbers random(seed);
  std::vector<Matrix> weights;
  weights.reserve(kGoWeights.size());
  for (const WeightSize& size : kGoWeights) {
    Matrix matrix(size.rows, size.columns);
    const std::size_t number = weights.size();
    const bool is_direct = number == place_direct || number == order_direct || number == fusion_direct;
    if (size.rows != 1 && !is_direct) {
      const bool is_output = number == place_out || number == order_out || number == fusion_out || number == attended;
      // Glorot and Bengio, Understanding the Difficulty of Training Deep Feedforward Neural Networks, 2010.
      double limit = std::sqrt(6.0 / static_cast<double>(size.rows + size.columns));
      if (is_output) limit *= kOfOutputs;
      // Scores of attention are divided by the root of their width (Vaswani et al., Attention Is All You
      // Need, 2017).
      if (number == query) limit /= std::sqrt(static_cast<double>(kGoKeys));
      for (float& x : matrix.values) x = static_cast<float>(limit * (2 * random.unit() - 1));
    }
    weights.push_back(std::move(matrix));
  }
  // Nodes of the critical chain change most, and go where their operands are early and the device is idle.
  Matrix& places = weights[place_direct];
  places.at(GoPlanView::kThereNow, 0) = kStays;
  places.at(GoPlanView::kCriticalThere, 0) = -kCriticalMoves;
  places.at(GoPlanView::kArrival, 0) = -1;
  places.at(GoPlanView::kBusy, 0) = -1;
  places.at(GoPlanView::kOperandsThere, 0) = 1;
  weights[order_bias].at(0, kGoKeepOrder) = kKeepsOrder;
  weights[fusion_direct].at(GoPlanView::kFusedNow, 0) = -kKeepsFusion;
  weights[fusion_direct].at(GoPlanView::kFusedNow, 1) = kKeepsFusion;
  return weights;
}

Result<Graph> go_graph(std::span<const Matrix> weights) { return GoBuilder(weights).build(); }

Result<GoNetwork> GoNetwork::of(std::span<const Matrix> weights) {
  XFLOW_TRY(const Graph graph, go_graph(weights));
  XFLOW_TRY(GraphGradient gradient, GraphGradient::of(graph));
  return GoNetwork(std::move(gradient));
}

GoScores GoNetwork::compute(const GoSegment& segment, const Matrix& summary, Matrix& memory) {
  nodes_ = segment.nodes.rows;
  const std::size_t devices = segment.devices.rows / nodes_;
  if (expand_.columns != nodes_ || expand_.rows != segment.devices.rows) {
    expand_ = Matrix(segment.devices.rows, nodes_);
    for (std::size_t row = 0; row < expand_.rows; ++row) expand_.at(row, row / devices) = 1;
  }
  memory_ = memory.values.empty() ? Matrix(1, kGoWidth) : std::move(memory);
  const Matrix* const inputs[] = {&segment.nodes, &summary, &memory_, &segment.devices, &expand_};
  std::vector<Matrix> outputs = gradient_.compute(inputs);
  memory = std::move(outputs[3]);
  return {std::move(outputs[0]), std::move(outputs[1]), std::move(outputs[2])};
}

void GoNetwork::differentiate(GoScores by_scores, std::span<Matrix> sums) {
  const std::array<Matrix, 4> by_outputs = {std::move(by_scores.places), std::move(by_scores.orders), std::move(by_scores.fusions),
                                            Matrix(nodes_, kGoWidth)};
  gradient_.differentiate(by_outputs, sums);
}

}  // namespace xflow::policy
