// BERT (Devlin, Chang, Lee, Toutanova: BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding, 2019) in the size
// that TASO (Jia et al. 2019) compares on: 8 layers, sequence 64, hidden 1024, 16 heads, and attention without softmax. TASO's graph is of
// attention alone; here are the residuals, normalisations and feed-forward layers of the paper as well, without which a product of three
// values that depend on the layer before leaves the range of float after a few layers.
#include <array>
#include <cmath>

#include "bench/models/families.h"

namespace xflow::bench {
namespace {

Value attention(Model& model, const Value& x, std::int64_t heads, const std::string& place) {
  const std::int64_t hidden = x.dims.back();
  const std::string self = place + ".attention.self";
  const auto projected = [&](const std::string& name) {
    return split_heads(model, linear(model, x, self + name, hidden), heads, self + name);
  };
  const Value query = projected(".query");
  const Value key = transpose(model, projected(".key"), {0, 1, 3, 2}, self);
  const Value scores = matmul(model, query, key, self);
  const auto root = static_cast<float>(std::sqrt(static_cast<double>(hidden / heads)));
  const Value scaled = binary(model, "Div", scores, model.constant(self + ".root", root), self);
  return linear(model, merge_heads(model, matmul(model, scaled, projected(".value"), self), self), place + ".attention.output.dense",
                hidden);
}

// The rows of a table that the input names.
Value embedding(Model& model, const Scale& scale, std::int64_t hidden) {
  const Value words = model.input("input", {scale.batch, scale.size(64)}, ir::DataType::int64);
  const Value table = model.weight("embeddings.word_embeddings.weight", {scale.words, hidden}, {-1, 1});
  return model.node("Gather", "embeddings.word_embeddings", std::array{table, words}, {scale.batch, scale.size(64), hidden},
                    {{"axis", std::int64_t{0}}});
}

}  // namespace

Model bert(const Scale& scale) {
  Model model("bert");
  const std::int64_t hidden = scale.channels(1024);
  Value x = scale.words > 0 ? embedding(model, scale, hidden) : model.input("input", {scale.batch, scale.size(64), hidden});
  constexpr std::int64_t kLayers = 8;
  const std::int64_t layers = scale.layers > 0 ? scale.layers : kLayers;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const std::string place = "encoder.layer." + std::to_string(layer);
    const Value attended = add(model, attention(model, x, scale.parts(16), place), x, place + ".attention.output");
    x = layer_norm(model, attended, place + ".attention.output.LayerNorm");
    const Value inner = gelu(model, linear(model, x, place + ".intermediate.dense", 4 * hidden), place + ".intermediate");
    x = add(model, linear(model, inner, place + ".output.dense", hidden), x, place + ".output");
    x = layer_norm(model, x, place + ".output.LayerNorm");
  }
  if (scale.words > 0) x = linear(model, x, "cls.predictions.decoder", scale.words);
  model.output(x);
  return model;
}

}  // namespace xflow::bench
