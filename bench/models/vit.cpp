// One encoder block of ViT-B/16 (Dosovitskiy et al.: An Image is Worth 16x16 Words: Transformers for Image Recognition at Scale, 2021):
// normalisation first, one product for queries, keys and values, which are split from its result.
#include <array>
#include <cmath>

#include "bench/models/families.h"

namespace xflow::bench {
namespace {

// The part of [3, 1, H, S, D] at `index`.
Value part(Model& model, const Value& x, std::int64_t index, const std::string& place) {
  const Dims& d = x.dims;
  const Value taken = model.integer(place + ".index" + std::to_string(index), index);
  return model.node("Gather", place, std::array{x, taken}, {d[1], d[2], d[3], d[4]}, {{"axis", std::int64_t{0}}});
}

Value attention(Model& model, const Value& x, std::int64_t heads) {
  const std::int64_t hidden = x.dims[2];
  const std::int64_t head = hidden / heads;
  const Value joint = reshape(model, linear(model, x, "attn.qkv", 3 * hidden), {x.dims[0], x.dims[1], 3, heads, head}, "attn.qkv");
  const Value split = transpose(model, joint, {2, 0, 3, 1, 4}, "attn.qkv");
  const auto factor = static_cast<float>(1 / std::sqrt(static_cast<double>(head)));
  const Value query = times(model, part(model, split, 0, "attn"), factor, "attn");
  const Value key = transpose(model, part(model, split, 1, "attn"), {0, 1, 3, 2}, "attn");
  const Value weights = softmax(model, matmul(model, query, key, "attn"), "attn");
  const Value attended = merge_heads(model, matmul(model, weights, part(model, split, 2, "attn"), "attn"), "attn.merged");
  return linear(model, attended, "attn.proj", hidden);
}

}  // namespace

Model vit(const Scale& scale) {
  Model model("vit");
  const std::int64_t hidden = scale.channels(768);
  Value x = model.input("tokens", {scale.batch, scale.size(197), hidden});
  x = add(model, x, attention(model, layer_norm(model, x, "norm1"), scale.parts(12)), "attended");
  model.output(feed_forward(model, x, {"norm2", "mlp.fc1", "mlp.act", "mlp.fc2"}));
  return model;
}

}  // namespace xflow::bench
