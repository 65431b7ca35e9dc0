// The recurrent networks that FlexFlow (Jia, Zaharia, Aiken: Beyond Data and Model Parallelism for Deep Neural
// Networks, MLSys 2019) compares on, unrolled over 40 steps whose layers share their weights: a text classifier
// of 4 LSTM layers (RNNTC, hidden size 1024), a language model of 2 (RNNLM, hidden size 2048, 10,000 words), and
// a translator of 2 layers on either side (NMT, hidden size 1024, 32,000 words) with the attention of Luong, Pham
// and Manning (Effective Approaches to Attention-based Neural Machine Translation, 2015; the dot product).
// Embeddings of the words are the inputs, and logits the outputs.
#include <array>
#include <cmath>
#include <vector>

#include "bench/models/families.h"

namespace xflow::bench {
namespace {

constexpr int kSteps = 40;

// A layer (Hochreiter, Schmidhuber: Long Short-Term Memory, 1997) with its weights and its state.
struct Lstm {
  Value input_weight;
  Value state_weight;
  Value bias;
  Value state;
  Value cell;

  Lstm(Model& model, const std::string& place, std::int64_t inputs, std::int64_t hidden, std::int64_t batch) {
    constexpr std::int64_t kGates = 4;
    const double deviation = std::sqrt(1.0 / static_cast<double>(hidden));
    input_weight = model.weight(place + ".weight_ih", {inputs, kGates * hidden}, around_zero(deviation));
    state_weight = model.weight(place + ".weight_hh", {hidden, kGates * hidden}, around_zero(deviation));
    bias = model.weight(place + ".bias", {kGates * hidden}, {-0.1F, 0.1F});
    state = model.input(place + ".state", {batch, hidden});
    cell = model.input(place + ".cell", {batch, hidden});
  }

  Value step(Model& model, const Value& x, const std::string& place) {
    const std::int64_t hidden = state.dims.back();
    const Value products = add(model, matmul(model, x, input_weight, place), matmul(model, state, state_weight, place), place);
    const Value gates = add(model, products, bias, place + "/gates");
    const auto gate = [&](std::int64_t number, const char* op) {
      return unary(model, op, slice(model, gates, 1, number * hidden, (number + 1) * hidden, place + "/gate" + std::to_string(number)),
                   place);
    };
    const Value kept = binary(model, "Mul", gate(1, "Sigmoid"), cell, place);
    cell = add(model, kept, binary(model, "Mul", gate(0, "Sigmoid"), gate(2, "Tanh"), place), place + "/cell");
    state = binary(model, "Mul", gate(3, "Sigmoid"), unary(model, "Tanh", cell, place), place + "/state");
    return state;
  }
};

struct RecurrentSizes {
  int layers = 1;
  std::int64_t hidden = 1;
  std::int64_t outputs = 1;
  bool has_output_of_each_step = false;
};

Model recurrent(const std::string& name, const RecurrentSizes& sizes, const Scale& scale) {
  Model model(name);
  std::vector<Lstm> layers;
  for (int layer = 0; layer < sizes.layers; ++layer)
    layers.emplace_back(model, "lstm" + std::to_string(layer), sizes.hidden, sizes.hidden, scale.batch);
  const double deviation = std::sqrt(1.0 / static_cast<double>(sizes.hidden));
  const Value head = model.weight("head.weight", {sizes.hidden, sizes.outputs}, around_zero(4 * deviation));
  std::vector<Value> logits;
  Value x;
  for (int step = 0; step < kSteps; ++step) {
    const std::string place = "step" + std::to_string(step);
    x = model.input("x" + std::to_string(step), {scale.batch, sizes.hidden});
    for (std::size_t layer = 0; layer < layers.size(); ++layer) x = layers[layer].step(model, x, place + "/lstm" + std::to_string(layer));
    if (sizes.has_output_of_each_step || step + 1 == kSteps) logits.push_back(matmul(model, x, head, place + "/head"));
  }
  model.output(logits.size() == 1 ? logits[0] : concat(model, logits, 0, "logits"));
  return model;
}

// The states of a source, and what a state of the target sees of them.
struct Attention {
  Value keys;    // [batch, hidden, steps]
  Value values;  // [batch, steps, hidden]
  Value weight;  // of the state and what it sees

  Attention(Model& model, const std::vector<Value>& states) {
    const std::int64_t batch = states[0].dims[0];
    const std::int64_t hidden = states[0].dims[1];
    std::vector<Value> rows;
    for (std::size_t step = 0; step < states.size(); ++step)
      rows.push_back(reshape(model, states[step], {batch, 1, hidden}, "attention/row" + std::to_string(step)));
    values = concat(model, rows, 1, "attention/values");
    keys = transpose(model, values, {0, 2, 1}, "attention/keys");
    weight = model.weight("attention.weight", {2 * hidden, hidden}, around_zero(std::sqrt(1.0 / static_cast<double>(2 * hidden))));
  }

  Value apply(Model& model, const Value& state, const std::string& place) const {
    const Value query = reshape(model, state, {state.dims[0], 1, state.dims[1]}, place + "/query");
    const Value shares = softmax(model, matmul(model, query, keys, place + "/scores"), place);
    const Value seen = reshape(model, matmul(model, shares, values, place + "/seen"), state.dims, place + "/seen");
    return unary(model, "Tanh", matmul(model, concat(model, std::array{state, seen}, 1, place + "/both"), weight, place + "/joined"),
                 place);
  }
};

}  // namespace

Model nmt(const Scale& scale) {
  Model model("nmt");
  const std::int64_t hidden = scale.channels(1024);
  std::vector<Lstm> source;
  std::vector<Lstm> target;
  for (int layer = 0; layer < 2; ++layer) {
    source.emplace_back(model, "source" + std::to_string(layer), hidden, hidden, scale.batch);
    target.emplace_back(model, "target" + std::to_string(layer), hidden, hidden, scale.batch);
  }
  const auto run = [&](std::vector<Lstm>& layers, const std::string& side, int step) {
    Value x = model.input(side + "_x" + std::to_string(step), {scale.batch, hidden});
    for (std::size_t layer = 0; layer < layers.size(); ++layer)
      x = layers[layer].step(model, x, side + std::to_string(step) + "/lstm" + std::to_string(layer));
    return x;
  };
  std::vector<Value> states;
  for (int step = 0; step < kSteps; ++step) states.push_back(run(source, "source", step));
  const Attention attention(model, states);
  const Value head = model.weight("head.weight", {hidden, scale.channels(32000)}, around_zero(4 / std::sqrt(static_cast<double>(hidden))));
  std::vector<Value> logits;
  for (int step = 0; step < kSteps; ++step) {
    const std::string place = "target" + std::to_string(step);
    logits.push_back(matmul(model, attention.apply(model, run(target, "target", step), place + "/attention"), head, place + "/head"));
  }
  model.output(concat(model, logits, 0, "logits"));
  return model;
}

Model rnnlm(const Scale& scale) {
  return recurrent("rnnlm",
                   {.layers = 2, .hidden = scale.channels(2048), .outputs = scale.channels(10000), .has_output_of_each_step = true}, scale);
}

Model rnntc(const Scale& scale) {
  return recurrent("rnntc", {.layers = 4, .hidden = scale.channels(1024), .outputs = 2, .has_output_of_each_step = false}, scale);
}

}  // namespace xflow::bench
