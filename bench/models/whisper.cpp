// One encoder block of Whisper base (Radford et al.: Robust Speech Recognition via Large-Scale Weak Supervision, 2022): normalisation
// first, keys without bias, queries scaled before the product.
#include <array>
#include <cmath>

#include "bench/models/families.h"

namespace xflow::bench {
namespace {

Value attention(Model& model, const Value& x, std::int64_t heads) {
  const std::int64_t hidden = x.dims[2];
  const auto factor = static_cast<float>(1 / std::sqrt(static_cast<double>(hidden / heads)));
  const Value query = times(model, linear(model, x, "self_attn.q_proj", hidden), factor, "self_attn.q_proj");
  const Value key = linear(model, x, "self_attn.k_proj", hidden, false);
  const Value value = linear(model, x, "self_attn.v_proj", hidden);
  const Value keys = transpose(model, split_heads(model, key, heads, "self_attn.k"), {0, 1, 3, 2}, "self_attn.k");
  const Value weights = softmax(model, matmul(model, split_heads(model, query, heads, "self_attn.q"), keys, "self_attn"), "self_attn");
  const Value attended = matmul(model, weights, split_heads(model, value, heads, "self_attn.v"), "self_attn");
  return linear(model, merge_heads(model, attended, "self_attn"), "self_attn.out_proj", hidden);
}

}  // namespace

Model whisper(const Scale& scale) {
  Model model("whisper");
  const std::int64_t hidden = scale.channels(512);
  Value x = model.input("hidden_states", {scale.batch, scale.size(1500), hidden});
  x = add(model, x, attention(model, layer_norm(model, x, "self_attn_layer_norm"), scale.parts(8)), "attended");
  model.output(feed_forward(model, x, {"final_layer_norm", "fc1", "activation_fn", "fc2"}));
  return model;
}

}  // namespace xflow::bench
