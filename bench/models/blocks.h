// What networks are made of, exported as the exporters of frameworks write it. Every block takes the model, its operand, and the place that
// its weights and nodes are named after.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/models/model.h"

namespace xflow::bench {

// How much smaller than published a model is built: channels, hidden sizes, images and sequences are divided, depths stay.
struct Scale {
  std::int64_t divisor = 1;
  std::int64_t batch = 1;   // samples
  std::int64_t layers = 0;  // of bert; 0: as published
  std::int64_t words = 0;   // of bert: an embedding of as many before it, and a projection to them behind it; 0: neither

  // At least 8, and a multiple of 8 where it is divided.
  std::int64_t channels(std::int64_t full) const;
  // The full size, or a multiple of `multiple`.
  std::int64_t size(std::int64_t full, std::int64_t multiple = 1) const;
  // Of heads, groups: at least 2.
  std::int64_t parts(std::int64_t full) const;
};

struct Window {
  std::int64_t height = 1;
  std::int64_t width = 1;
};

struct ConvOptions {
  std::int64_t channels = 0;
  Window kernel = {};
  std::int64_t stride = 1;
  Window padding = {0, 0};
  std::int64_t groups = 1;
  bool bias = false;
  // The variance of a result is that of the operand times `gain` / 2: 2 keeps it where the operand was rectified (He et al. 2015).
  double gain = 2;
};
Value conv(Model& model, const Value& x, const std::string& place, const ConvOptions& options);
// Kernel 2, stride 2, with bias: twice the size.
Value conv_transpose(Model& model, const Value& x, const std::string& place, std::int64_t channels);
// As trained: scales, offsets and statistics of channels that differ.
Value batch_norm(Model& model, const Value& x, const std::string& place, double scale = 1, float epsilon = 1e-5F);

struct PoolOptions {
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  bool count_padding = false;  // of averages
  bool ceil = false;           // of maxima: windows may reach over the end
};
Value max_pool(Model& model, const Value& x, const std::string& place, const PoolOptions& options);
Value average_pool(Model& model, const Value& x, const std::string& place, const PoolOptions& options);
Value global_average_pool(Model& model, const Value& x, const std::string& place);

// Gemm with weights [outputs, inputs], as classifiers are exported.
Value gemm(Model& model, const Value& x, const std::string& place, std::int64_t outputs);
// MatMul with weights [inputs, outputs], and Add of a bias, as layers on sequences are exported.
Value linear(Model& model, const Value& x, const std::string& place, std::int64_t outputs, bool bias = true, double scale = 1);
Value layer_norm(Model& model, const Value& x, const std::string& place);
Value softmax(Model& model, const Value& x, const std::string& place);
// x / sqrt(2), erf, + 1, · x, / 2: five nodes before opset 20.
Value gelu(Model& model, const Value& x, const std::string& place);

Value unary(Model& model, std::string_view op, const Value& x, const std::string& place);
// sigmoid(x) · x: two nodes.
Value silu(Model& model, const Value& x, const std::string& place);
// With broadcasting.
Value binary(Model& model, std::string_view op, const Value& a, const Value& b, const std::string& place);
Value relu(Model& model, const Value& x, const std::string& place);
Value add(Model& model, const Value& a, const Value& b, const std::string& place);
// x · number, the number a constant of the model.
Value times(Model& model, const Value& x, float number, const std::string& place);
Value matmul(Model& model, const Value& a, const Value& b, const std::string& place);
Value concat(Model& model, std::span<const Value> parts, std::int64_t axis, const std::string& place);
Value reshape(Model& model, const Value& x, Dims dims, const std::string& place);
Value transpose(Model& model, const Value& x, const Dims& permutation, const std::string& place);
Value slice(Model& model, const Value& x, std::int64_t axis, std::int64_t begin, std::int64_t end, const std::string& place);
Value flatten(Model& model, const Value& x, const std::string& place);
// x[:, 0] of [N, S, H]: the first token of each sequence.
Value first_token(Model& model, const Value& x, const std::string& place);
// Each pixel of an image four times: Resize to twice the height and width.
Value doubled(Model& model, const Value& x, const std::string& place);

// [1, S, H·D] -> [1, H, S, D], and back.
Value split_heads(Model& model, const Value& x, std::int64_t heads, const std::string& place);
Value merge_heads(Model& model, const Value& x, const std::string& place);

// The second half of an encoder block that normalises first: x + down(gelu(up(normalised x))), up to 4 times the hidden size.
struct FeedForwardPlaces {
  std::string norm, up, activation, down;
};
Value feed_forward(Model& model, const Value& x, const FeedForwardPlaces& places);

}  // namespace xflow::bench
