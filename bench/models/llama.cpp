// One block of LLaMA 3 8B (Touvron et al.: LLaMA: Open and Efficient Foundation Language Models, 2023; Grattafiori et al.: The Llama 3 Herd
// of Models, 2024): RMSNorm (Zhang, Sennrich 2019), rotary embedding (Su et al. 2021), grouped-query attention (Ainslie et al. 2023),
// SwiGLU (Shazeer 2020); with a LoRA (Hu et al. 2021) of rank 16 beside each projection that was not merged into it.
#include <array>
#include <cmath>

#include "bench/models/families.h"

namespace xflow::bench {
namespace {

struct Sizes {
  std::int64_t sequence, hidden, heads, groups, rank;
  std::int64_t head() const { return hidden / heads; }
};

// x · W + 2 · (x · A) · B
Value adapted(Model& model, const Value& x, const std::string& place, std::int64_t outputs, const Sizes& sizes) {
  const Value base = linear(model, x, place + ".base_layer", outputs, false);
  const Value down = linear(model, x, place + ".lora_A", sizes.rank, false);
  const Value up = linear(model, down, place + ".lora_B", outputs, false, 0.1);
  return add(model, base, times(model, up, 2, place), place);
}

// weight · (x / sqrt(mean(x²) + epsilon)), node by node, as there is no such operator before opset 23.
Value rms_norm(Model& model, const Value& x, const std::string& place) {
  const Value square = binary(model, "Pow", x, model.constant(place + ".exponent", 2), place);
  Dims dims = x.dims;
  dims.back() = 1;
  const Value mean = model.node("ReduceMean", place, std::array{square}, dims, {{"axes", Dims{-1}}, {"keepdims", std::int64_t{1}}});
  const Value root = unary(model, "Sqrt", add(model, mean, model.constant(place + ".epsilon", 1e-5F), place), place);
  const Value inverse = binary(model, "Div", model.constant(place + ".one", 1), root, place);
  const Value weight = model.weight(place + ".weight", {x.dims.back()}, {0.8F, 1.2F});
  return binary(model, "Mul", weight, binary(model, "Mul", x, inverse, place), place);
}

// Cosines and sines of position · 500000^(-2k / head), for both halves of a head: [1, 1, S, D].
Value rotation(Model& model, const Sizes& sizes, const char* name, double (*function)(double)) {
  std::vector<float> values;
  for (std::int64_t position = 0; position < sizes.sequence; ++position)
    for (std::int64_t k = 0; k < sizes.head(); ++k) {
      const double frequency = std::pow(500000.0, -2.0 * static_cast<double>(k % (sizes.head() / 2)) / static_cast<double>(sizes.head()));
      values.push_back(static_cast<float>(function(static_cast<double>(position) * frequency)));
    }
  return model.constant(name, {1, 1, sizes.sequence, sizes.head()}, values);
}

// x · cos + (-x2 ++ x1) · sin, where x = x1 ++ x2.
Value rotated(Model& model, const Value& x, const Value& cosine, const Value& sine, const std::string& place) {
  const std::int64_t half = x.dims[3] / 2;
  const Value first = slice(model, x, 3, 0, half, place + ".first");
  const Value second = unary(model, "Neg", slice(model, x, 3, half, 2 * half, place + ".second"), place);
  const Value turned = concat(model, std::array{second, first}, -1, place);
  return add(model, binary(model, "Mul", x, cosine, place), binary(model, "Mul", turned, sine, place), place);
}

// Each head of keys or values once for each of the heads of queries that share it.
Value repeated(Model& model, const Value& x, std::int64_t times, const std::string& place) {
  const std::int64_t axis = 2;
  const Dims& d = x.dims;
  const Value apart =
      model.node("Unsqueeze", place, std::array{x, model.integers(place + ".axes", {&axis, 1})}, {d[0], d[1], 1, d[2], d[3]});
  const Dims expanded{d[0], d[1], times, d[2], d[3]};
  const Value copies = model.node("Expand", place, std::array{apart, model.integers(place + ".expanded", expanded)}, expanded);
  return reshape(model, copies, {d[0], d[1] * times, d[2], d[3]}, place);
}

Value causal_mask(Model& model, std::int64_t sequence) {
  std::vector<float> mask;
  for (std::int64_t row = 0; row < sequence; ++row)
    for (std::int64_t column = 0; column < sequence; ++column) mask.push_back(column > row ? -3.4028235e38F : 0);
  return model.constant("causal_mask", {1, 1, sequence, sequence}, mask);
}

Value attention(Model& model, const Value& x, const Sizes& sizes) {
  const std::string place = "self_attn";
  const auto projected = [&](const std::string& name, std::int64_t heads) {
    return split_heads(model, adapted(model, x, place + name, heads * sizes.head(), sizes), heads, place + name);
  };
  const Value cosine = rotation(model, sizes, "rotary_emb.cos", [](double angle) { return std::cos(angle); });
  const Value sine = rotation(model, sizes, "rotary_emb.sin", [](double angle) { return std::sin(angle); });
  const Value query = rotated(model, projected(".q_proj", sizes.heads), cosine, sine, place + ".q_rotary");
  const Value key = rotated(model, projected(".k_proj", sizes.groups), cosine, sine, place + ".k_rotary");
  const std::int64_t shared = sizes.heads / sizes.groups;
  const Value keys = transpose(model, repeated(model, key, shared, place + ".k_repeat"), {0, 1, 3, 2}, place + ".k_repeat");
  const Value values = repeated(model, projected(".v_proj", sizes.groups), shared, place + ".v_repeat");
  const auto factor = static_cast<float>(1 / std::sqrt(static_cast<double>(sizes.head())));
  const Value scores = times(model, matmul(model, query, keys, place), factor, place);
  const Value weights = softmax(model, add(model, scores, causal_mask(model, sizes.sequence), place), place);
  const Value merged = merge_heads(model, matmul(model, weights, values, place), place);
  return adapted(model, merged, place + ".o_proj", sizes.hidden, sizes);
}

Value feed_forward(Model& model, const Value& x, const Sizes& sizes, std::int64_t inner) {
  const Value gate = adapted(model, x, "mlp.gate_proj", inner, sizes);
  const Value silu = binary(model, "Mul", gate, unary(model, "Sigmoid", gate, "mlp.act_fn"), "mlp.act_fn");
  const Value gated = binary(model, "Mul", silu, adapted(model, x, "mlp.up_proj", inner, sizes), "mlp");
  return adapted(model, gated, "mlp.down_proj", sizes.hidden, sizes);
}

}  // namespace

Model llama_lora(const Scale& scale) {
  Model model("llama_lora");
  const Sizes sizes{scale.size(128), scale.channels(4096), 2 * scale.parts(16), scale.parts(8), scale.channels(16)};
  Value x = model.input("hidden_states", {scale.batch, sizes.sequence, sizes.hidden});
  x = add(model, x, attention(model, rms_norm(model, x, "input_layernorm"), sizes), "attended");
  x = add(model, x, feed_forward(model, rms_norm(model, x, "post_attention_layernorm"), sizes, scale.channels(14336)), "fed");
  model.output(x);
  return model;
}

}  // namespace xflow::bench
