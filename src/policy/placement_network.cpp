#include "src/policy/placement_network.h"

#include <array>
#include <cmath>

#include "src/parallel/random_numbers.h"
#include "src/policy/placement_environment.h"

namespace xflow::policy {
namespace {

constexpr std::int64_t kGroups = PlacementEnvironment::kGroupFeatures;
constexpr std::int64_t kDevices = PlacementEnvironment::kDeviceFeatures;
constexpr std::int64_t kWidth = 16;
constexpr std::int64_t kHidden = 32;
constexpr int kMessages = 3;  // rounds of them, with the same weights

// In the order of all lists of weights.
enum WeightNumber : std::size_t {
  group_in,
  group_bias,
  message_own,
  message_parents,
  message_children,
  message_bias,
  encoder_end,
  score_devices = encoder_end,
  score_own,
  score_parents,
  score_children,
  score_others,
  score_bias,
  score_hidden,
  score_hidden_bias,
  score_out,
  weight_count,
};

constexpr std::array<WeightSize, weight_count> kWeights = {{
    {"group_in", kGroups, kWidth},
    {"group_bias", 1, kWidth},
    {"message_own", kWidth, kWidth},
    {"message_parents", kWidth, kWidth},
    {"message_children", kWidth, kWidth},
    {"message_bias", 1, kWidth},
    {"score_devices", kDevices, kHidden},
    {"score_own", kWidth, kHidden},
    {"score_parents", kWidth, kHidden},
    {"score_children", kWidth, kHidden},
    {"score_others", kWidth, kHidden},
    {"score_bias", 1, kHidden},
    {"score_hidden", kHidden, kHidden},
    {"score_hidden_bias", 1, kHidden},
    {"score_out", kHidden, 1},
}};

class NetworkBuilder {
 public:
  // Weights outside of the range are not used.
  NetworkBuilder(std::span<const Matrix> weights, std::size_t from, std::size_t to) {
    for (std::size_t k = 0; k < weight_count; ++k) {
      if (k < from || k >= to) {
        weights_.push_back({});
        continue;
      }
      const Matrix& weight = weights[k];
      std::vector<std::int64_t> dims = {static_cast<std::int64_t>(weight.columns)};
      if (kWeights[k].rows != 1) dims.insert(dims.begin(), static_cast<std::int64_t>(weight.rows));
      weights_.push_back(builder_.weight(DataType::float32, dims, std::as_bytes(std::span(weight.values))));
    }
  }

  Value input(const char* name, const char* rows, Dimension columns) {
    return builder_.input(name, DataType::float32, {rows, std::move(columns)});
  }
  Value encode() {
    const Value groups = input("groups", "N", kGroups);
    const Value parents = input("parents", "N", "N");
    const Value children = input("children", "N", "N");
    Value embeddings = relu(sum(product(groups, group_in), group_bias));
    for (int round = 0; round < kMessages; ++round) {
      const Value from_parents = product(apply("matmul", parents, embeddings), message_parents);
      const Value from_children = product(apply("matmul", children, embeddings), message_children);
      const Value own = sum(product(embeddings, message_own), message_bias);
      embeddings = relu(apply("add", apply("add", own, from_parents), from_children));
    }
    return embeddings;
  }
  Value score(Value embeddings) {
    Value hidden = sum(product(input("devices", "M", kDevices), score_devices), score_bias);
    const auto add = [&](const char* name, std::size_t weight) {
      hidden = apply("add", hidden, product(apply("matmul", input(name, "M", "N"), embeddings), weight));
    };
    add("own", score_own);
    add("parents_there", score_parents);
    add("children_there", score_children);
    add("others_there", score_others);
    return product(relu(sum(product(relu(hidden), score_hidden), score_hidden_bias)), score_out);
  }
  Result<Graph> build(const char* name, Value output) {
    builder_.output(name, output);
    return builder_.build();
  }

 private:
  Value apply(const char* op, Value left, Value right) { return builder_.apply(op, {left, right}); }
  Value product(Value left, std::size_t weight) { return apply("matmul", left, weights_[weight]); }
  Value sum(Value left, std::size_t weight) { return apply("add", left, weights_[weight]); }
  Value relu(Value value) { return builder_.apply("relu", {value}); }

  GraphBuilder builder_;
  std::vector<Value> weights_;
};

}  // namespace

std::span<const WeightSize> network_weights() { return kWeights; }

std::vector<Matrix> first_weights(std::uint64_t seed) {
  parallel::RandomNumbers random(seed);
  std::vector<Matrix> weights;
  for (const WeightSize& size : kWeights) {
    Matrix weight(size.rows, size.columns);
    // As of He et al. (Delving Deep into Rectifiers, 2015), with a uniform distribution; first scores are
    // small, so that all devices are about as likely.
    const double limit = std::sqrt(6.0 / static_cast<double>(size.rows)) * (size.columns == 1 ? 0.1 : 0.5);
    if (size.rows > 1) {
      for (float& x : weight.values) x = static_cast<float>(limit * (2 * random.unit() - 1));
    }
    weights.push_back(std::move(weight));
  }
  return weights;
}

Result<Graph> encoder_graph(std::span<const Matrix> weights) {
  NetworkBuilder builder(weights, 0, encoder_end);
  return builder.build("embeddings", builder.encode());
}

Result<Graph> scorer_graph(std::span<const Matrix> weights) {
  NetworkBuilder builder(weights, encoder_end, weight_count);
  const Value embeddings = builder.input("embeddings", "N", kWidth);
  return builder.build("scores", builder.score(embeddings));
}

Result<Graph> whole_graph(std::span<const Matrix> weights) {
  NetworkBuilder builder(weights, 0, weight_count);
  return builder.build("scores", builder.score(builder.encode()));
}

}  // namespace xflow::policy
