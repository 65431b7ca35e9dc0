#include "src/policy/sequence_network.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "src/parallel/random_numbers.h"

namespace xflow::policy {
namespace {

enum GateNumber : std::size_t { input_gate, forget_gate, cell_gate, output_gate, gate_count };

// Positions of weights. A gate has weights of its input, of the state, and a bias; one of the decoder also
// those of what the decision sees.
enum SequenceWeight : std::size_t {
  embed,
  embed_bias,
  encoder_gates,
  decoder_gates = encoder_gates + 3 * gate_count,
  decision_gates = decoder_gates + 3 * gate_count,
  joined_state = decision_gates + gate_count,
  joined_context,
  joined_bias,
  out_score,
  out_bias,
  out_seen,
  sequence_weights,
};

class SequenceBuilder {
 public:
  SequenceBuilder(const SequenceSizes& sizes, std::span<const Matrix> weights) : sizes_(sizes) {
    for (const Matrix& weight : weights) {
      std::vector<std::int64_t> dims = {static_cast<std::int64_t>(weight.columns)};
      if (weight.rows != 1) dims.insert(dims.begin(), static_cast<std::int64_t>(weight.rows));
      weights_.push_back(builder_.weight(DataType::float32, dims, std::as_bytes(std::span(weight.values))));
    }
  }

  struct State {
    Value state;
    Value cell;
  };
  struct Encoded {
    std::vector<Value> groups;  // embeddings
    Value memory;
    State last;
  };

  Value input(std::string name, Dimension rows, std::size_t columns) {
    return builder_.input(std::move(name), DataType::float32, {std::move(rows), columns});
  }
  Value group(std::string name, Dimension rows) {
    return unary("tanh", sum(product(input(std::move(name), std::move(rows), sizes_.features), embed), embed_bias));
  }
  Value seen(std::string name, Dimension rows) { return input(std::move(name), std::move(rows), kDecisionFeatures * sizes_.devices); }
  State state(const Dimension& rows) { return {input("state", rows, sizes_.hidden), input("cell", rows, sizes_.hidden)}; }

  Encoded encode(std::size_t groups) {
    Encoded result;
    std::vector<Value> states;
    for (std::size_t k = 0; k < groups; ++k) {
      result.groups.push_back(group(fmt::format("group {}", k), 1));
      result.last = step(encoder_gates, result.groups[k], k == 0 ? nullptr : &result.last, nullptr);
      states.push_back(result.last.state);
    }
    result.memory = groups == 1 ? states[0] : builder_.apply("concat", states, {{"axis", 0}});
    return result;
  }
  // Scores of a decision; `last` becomes its state. `keys` is the transposed memory.
  Value decide(Value group, Value memory, Value keys, Value seen, State& last) {
    last = step(decoder_gates, group, &last, &seen);
    const Value shares = builder_.apply("softmax", {apply("matmul", last.state, keys)}, {{"axis", 1}});
    const Value context = apply("matmul", shares, memory);
    const Value joined = unary("tanh", sum(apply("add", product(last.state, joined_state), product(context, joined_context)), joined_bias));
    return sum(apply("add", product(joined, out_score), product(seen, out_seen)), out_bias);
  }
  Value keys_of(Value memory) { return builder_.apply("transpose", {memory}, {{"perm", {1, 0}}}); }
  void output(std::string name, Value value) { builder_.output(std::move(name), value); }
  Result<Graph> build() { return builder_.build(); }

 private:
  Value apply(const char* op, Value left, Value right) { return builder_.apply(op, {left, right}); }
  Value unary(const char* op, Value value) { return builder_.apply(op, {value}); }
  Value product(Value left, std::size_t weight) { return apply("matmul", left, weights_[weight]); }
  Value sum(Value left, std::size_t weight) { return apply("add", left, weights_[weight]); }

  // A step of an LSTM, the first one without a state.
  State step(std::size_t gates, Value x, const State* last, const Value* seen) {
    std::array<Value, gate_count> gate{};
    for (std::size_t k = 0; k < gate_count; ++k) {
      const std::size_t own = gates + 3 * k;
      Value value = sum(product(x, own), own + 2);
      if (last != nullptr) value = apply("add", product(last->state, own + 1), value);
      if (seen != nullptr) value = apply("add", product(*seen, decision_gates + k), value);
      gate[k] = unary(k == cell_gate ? "tanh" : "sigmoid", value);
    }
    Value cell = apply("mul", gate[input_gate], gate[cell_gate]);
    if (last != nullptr) cell = apply("add", apply("mul", gate[forget_gate], last->cell), cell);
    return {apply("mul", gate[output_gate], unary("tanh", cell)), cell};
  }

  SequenceSizes sizes_;
  GraphBuilder builder_;
  std::vector<Value> weights_;
};

}  // namespace

std::vector<Matrix> first_sequence_weights(const SequenceSizes& sizes, std::uint64_t seed) {
  const std::size_t hidden = sizes.hidden;
  const std::size_t seen = kDecisionFeatures * sizes.devices;
  std::vector<Matrix> weights(sequence_weights);
  weights[embed] = Matrix(sizes.features, hidden);
  for (const std::size_t gates : {encoder_gates, decoder_gates}) {
    for (std::size_t k = 0; k < gate_count; ++k) {
      weights[gates + 3 * k] = Matrix(hidden, hidden);
      weights[gates + 3 * k + 1] = Matrix(hidden, hidden);
      weights[gates + 3 * k + 2] = Matrix(1, hidden);
    }
  }
  for (std::size_t k = 0; k < gate_count; ++k) weights[decision_gates + k] = Matrix(seen, hidden);
  weights[joined_state] = Matrix(hidden, hidden);
  weights[joined_context] = Matrix(hidden, hidden);
  for (const std::size_t bias : {embed_bias, joined_bias}) weights[bias] = Matrix(1, hidden);
  weights[out_score] = Matrix(hidden, sizes.devices);
  weights[out_bias] = Matrix(1, sizes.devices);
  weights[out_seen] = Matrix(seen, sizes.devices);
  parallel::RandomNumbers random(seed);
  for (Matrix& weight : weights) {
    if (weight.rows == 1) continue;  // a bias
    // Glorot and Bengio, Understanding the Difficulty of Training Deep Feedforward Neural Networks, 2010.
    const double limit = std::sqrt(6.0 / static_cast<double>(weight.rows + weight.columns)) * (&weight == &weights[out_seen] ? 0.1 : 1);
    for (float& x : weight.values) x = static_cast<float>(limit * (2 * random.unit() - 1));
  }
  // A cell keeps what it has, and a group goes to the device of what it reads.
  constexpr float kForgetBias = 1;
  constexpr float kNearness = 3;
  for (const std::size_t gates : {encoder_gates, decoder_gates}) {
    for (float& x : weights[gates + 3 * forget_gate + 2].values) x = kForgetBias;
  }
  for (std::size_t device = 0; device < sizes.devices; ++device) weights[out_seen].at(sizes.devices + device, device) += kNearness;
  return weights;
}

Result<Graph> sequence_encoder(const SequenceSizes& sizes, std::span<const Matrix> weights, std::size_t groups) {
  SequenceBuilder builder(sizes, weights);
  const SequenceBuilder::Encoded encoded = builder.encode(groups);
  builder.output("memory", encoded.memory);
  builder.output("state", encoded.last.state);
  builder.output("cell", encoded.last.cell);
  return builder.build();
}

Result<Graph> sequence_decision(const SequenceSizes& sizes, std::span<const Matrix> weights) {
  SequenceBuilder builder(sizes, weights);
  const Value group = builder.group("group", "B");
  const Value memory = builder.input("memory", "N", sizes.hidden);
  const Value seen = builder.seen("seen", "B");
  SequenceBuilder::State state = builder.state("B");
  builder.output("scores", builder.decide(group, memory, builder.keys_of(memory), seen, state));
  builder.output("next state", state.state);
  builder.output("next cell", state.cell);
  return builder.build();
}

Result<Graph> sequence_training(const SequenceSizes& sizes, std::span<const Matrix> weights, std::size_t groups, std::size_t window) {
  SequenceBuilder builder(sizes, weights);
  SequenceBuilder::Encoded encoded = builder.encode(groups);
  const Value keys = builder.keys_of(encoded.memory);
  for (std::size_t k = 0; k < groups; ++k)
    builder.output(fmt::format("scores {}", k),
                   builder.decide(encoded.groups[k], encoded.memory, keys, builder.seen(fmt::format("seen {}", k), "B"), encoded.last));
  SequenceBuilder::State state = builder.state("C");
  for (std::size_t k = 0; k < window; ++k) {
    const Value group = builder.group(fmt::format("window group {}", k), "C");
    const Value seen = builder.seen(fmt::format("window seen {}", k), "C");
    builder.output(fmt::format("window scores {}", k), builder.decide(group, encoded.memory, keys, seen, state));
  }
  return builder.build();
}

}  // namespace xflow::policy
