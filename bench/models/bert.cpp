// BERT (Devlin, Chang, Lee, Toutanova: BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding, 2019), twice.
//
// `bert` has the size that TASO (Jia et al. 2019) compares on: 8 layers, sequence 64, hidden 1024, 16 heads, and attention without softmax.
// TASO's graph is of attention alone; here are the residuals, normalisations and feed-forward layers of the paper as well, without which a
// product of three values that depend on the layer before leaves the range of float after a few layers.
//
// `bert_classifier` is BERT-base whole: 12 layers, sequence 128, hidden 768, 12 heads, and a classifier with two labels of the first token.
#include <array>
#include <cmath>
#include <numeric>

#include "bench/models/families.h"

namespace xflow::bench {
namespace {

Value attention(Model& model, const Value& x, std::int64_t heads, const std::string& place, bool normalised) {
  const std::int64_t hidden = x.dims.back();
  const std::string self = place + ".attention.self";
  const auto projected = [&](const std::string& name) {
    return split_heads(model, linear(model, x, self + name, hidden), heads, self + name);
  };
  const Value query = projected(".query");
  const Value key = transpose(model, projected(".key"), {0, 1, 3, 2}, self);
  const Value scores = matmul(model, query, key, self);
  const auto root = static_cast<float>(std::sqrt(static_cast<double>(hidden / heads)));
  Value scaled = binary(model, "Div", scores, model.constant(self + ".root", root), self);
  if (normalised) scaled = softmax(model, scaled, self);
  return linear(model, merge_heads(model, matmul(model, scaled, projected(".value"), self), self), place + ".attention.output.dense",
                hidden);
}

Value layer(Model& model, Value x, std::int64_t heads, const std::string& place, bool normalised) {
  const std::int64_t hidden = x.dims.back();
  const Value attended = add(model, attention(model, x, heads, place, normalised), x, place + ".attention.output");
  x = layer_norm(model, attended, place + ".attention.output.LayerNorm");
  const Value inner = gelu(model, linear(model, x, place + ".intermediate.dense", 4 * hidden), place + ".intermediate");
  x = add(model, linear(model, inner, place + ".output.dense", hidden), x, place + ".output");
  return layer_norm(model, x, place + ".output.LayerNorm");
}

// The rows of a table of `size` that `indices` names.
Value rows_of(Model& model, std::int64_t size, std::int64_t hidden, const Value& indices, const std::string& place) {
  const Value table = model.weight(place + ".weight", {size, hidden}, {-1, 1});
  return model.node("Gather", place, std::array{table, indices}, {indices.dims[0], indices.dims[1], hidden}, {{"axis", std::int64_t{0}}});
}

// The sum of the rows of three tables: of words, of positions, and of the first kind of sentences. The tables have as many rows at every
// scale.
Value embedded(Model& model, const Value& words, std::int64_t hidden) {
  const std::int64_t length = words.dims[1];
  const auto known = [&](const char* name, std::vector<std::int64_t> values) {
    const Value row = model.integers(name, values);
    return reshape(model, row, {1, length}, name);
  };
  std::vector<std::int64_t> positions(static_cast<std::size_t>(length));
  std::iota(positions.begin(), positions.end(), 0);
  const Value kinds = known("bert.embeddings.token_type_ids", std::vector<std::int64_t>(positions.size(), 0));
  const Value word = rows_of(model, 30522, hidden, words, "bert.embeddings.word_embeddings");
  const Value kind = rows_of(model, 2, hidden, kinds, "bert.embeddings.token_type_embeddings");
  const Value places = known("bert.embeddings.position_ids", positions);
  const Value position = rows_of(model, 512, hidden, places, "bert.embeddings.position_embeddings");
  const Value sum = add(model, add(model, word, kind, "bert.embeddings"), position, "bert.embeddings");
  return layer_norm(model, sum, "bert.embeddings.LayerNorm");
}

}  // namespace

Model bert(const Scale& scale) {
  Model model("bert");
  const std::int64_t hidden = scale.channels(1024);
  Value x;
  if (scale.words > 0) {
    const Value words = model.input("input", {scale.batch, scale.size(64)}, ir::DataType::int64);
    x = rows_of(model, scale.words, hidden, words, "embeddings.word_embeddings");
  } else {
    x = model.input("input", {scale.batch, scale.size(64), hidden});
  }
  constexpr std::int64_t kLayers = 8;
  const std::int64_t layers = scale.layers > 0 ? scale.layers : kLayers;
  for (std::int64_t number = 0; number < layers; ++number)
    x = layer(model, x, scale.parts(16), "encoder.layer." + std::to_string(number), false);
  if (scale.words > 0) x = linear(model, x, "cls.predictions.decoder", scale.words);
  model.output(x);
  return model;
}

Model bert_classifier(const Scale& scale) {
  Model model("bert_classifier");
  const std::int64_t hidden = scale.channels(768);
  const Value words = model.input("input_ids", {scale.batch, scale.size(128)}, ir::DataType::int64);
  Value x = embedded(model, words, hidden);
  constexpr int kLayers = 12;
  for (int number = 0; number < kLayers; ++number)
    x = layer(model, x, scale.parts(12), "bert.encoder.layer." + std::to_string(number), true);
  x = gemm(model, first_token(model, x, "bert.pooler"), "bert.pooler.dense", hidden);
  constexpr std::int64_t kLabels = 2;
  model.output(gemm(model, unary(model, "Tanh", x, "bert.pooler.activation"), "classifier", kLabels));
  return model;
}

}  // namespace xflow::bench
