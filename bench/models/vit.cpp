// ViT-B/16 (Dosovitskiy et al.: An Image is Worth 16x16 Words: Transformers for Image Recognition at Scale, 2021): normalisation first, one
// product for queries, keys and values, which are split from its result. One encoder block, and the whole classifier.
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

Value attention(Model& model, const Value& x, std::int64_t heads, const std::string& place) {
  const std::int64_t hidden = x.dims[2];
  const std::int64_t head = hidden / heads;
  const Value joint = reshape(model, linear(model, x, place + ".qkv", 3 * hidden), {x.dims[0], x.dims[1], 3, heads, head}, place + ".qkv");
  const Value split = transpose(model, joint, {2, 0, 3, 1, 4}, place + ".qkv");
  const auto factor = static_cast<float>(1 / std::sqrt(static_cast<double>(head)));
  const Value query = times(model, part(model, split, 0, place), factor, place);
  const Value key = transpose(model, part(model, split, 1, place), {0, 1, 3, 2}, place);
  const Value weights = softmax(model, matmul(model, query, key, place), place);
  const Value attended = merge_heads(model, matmul(model, weights, part(model, split, 2, place), place), place + ".merged");
  return linear(model, attended, place + ".proj", hidden);
}

// `prefix` is what names begin with.
Value block(Model& model, const Value& x, std::int64_t heads, const std::string& prefix) {
  const Value normalised = layer_norm(model, x, prefix + "norm1");
  const Value y = add(model, x, attention(model, normalised, heads, prefix + "attn"), prefix + "attended");
  return feed_forward(model, y, {prefix + "norm2", prefix + "mlp.fc1", prefix + "mlp.act", prefix + "mlp.fc2"});
}

// [N, 3, H, W] -> [N, 1 + patches, hidden]: a convolution of patches of 16x16, a class token before them, positions.
Value embedded(Model& model, const Value& image, std::int64_t hidden) {
  const Value patches = conv(model, image, "patch_embed.proj", {.channels = hidden, .kernel = {16, 16}, .stride = 16, .bias = true});
  const std::int64_t samples = image.dims[0];
  const std::int64_t tokens = patches.dims[2] * patches.dims[3];
  const Value rows = transpose(model, reshape(model, patches, {samples, hidden, tokens}, "patch_embed"), {0, 2, 1}, "patch_embed");
  const Value token = model.weight("cls_token", {1, 1, hidden}, around_zero(1));
  const Dims dims{samples, 1, hidden};
  const Value repeated = model.node("Expand", "", std::array{token, model.integers("cls_token.shape", dims)}, dims);
  const Value all = concat(model, std::array{repeated, rows}, 1, "");
  return add(model, all, model.weight("pos_embed", {1, 1 + tokens, hidden}, around_zero(0.5)), "");
}

}  // namespace

Model vit(const Scale& scale) {
  Model model("vit");
  const Value tokens = model.input("tokens", {scale.batch, scale.size(197), scale.channels(768)});
  model.output(block(model, tokens, scale.parts(12), ""));
  return model;
}

Model vit_b16(const Scale& scale) {
  Model model("vit_b16");
  const std::int64_t image = scale.size(224, 16);
  Value x = embedded(model, model.input("input", {scale.batch, 3, image, image}), scale.channels(768));
  constexpr int kBlocks = 12;
  for (int k = 0; k < kBlocks; ++k) x = block(model, x, scale.parts(12), "blocks." + std::to_string(k) + ".");
  x = first_token(model, layer_norm(model, x, "norm"), "head");
  model.output(gemm(model, x, "head", scale.channels(1000)));
  return model;
}

}  // namespace xflow::bench
