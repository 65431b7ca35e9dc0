#include "bench/models/blocks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>

namespace xflow::bench {
namespace {

std::int64_t rounded_up(std::int64_t number, std::int64_t multiple) { return (number + multiple - 1) / multiple * multiple; }

std::int64_t window_count(std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t padding, bool ceil = false) {
  const std::int64_t room = size + 2 * padding - kernel;
  return (ceil ? rounded_up(room, stride) : room) / stride + 1;
}

Value pool(Model& model, std::string_view op, const Value& x, const std::string& place, const PoolOptions& options, Attributes attributes) {
  Dims dims = x.dims;
  for (const std::size_t axis : {2, 3})
    dims[axis] = window_count(dims[axis], options.kernel, options.stride, options.padding, options.ceil);
  attributes.insert(attributes.begin(), {{"ceil_mode", std::int64_t{options.ceil}},
                                         {"kernel_shape", Dims(2, options.kernel)},
                                         {"pads", Dims(4, options.padding)},
                                         {"strides", Dims(2, options.stride)}});
  return model.node(op, place, std::array{x}, std::move(dims), attributes);
}

}  // namespace

std::int64_t Scale::channels(std::int64_t full) const {
  return divisor == 1 ? full : std::max<std::int64_t>(8, rounded_up(full / divisor, 8));
}

std::int64_t Scale::size(std::int64_t full, std::int64_t multiple) const {
  return divisor == 1 ? full : std::max(multiple, rounded_up(full / divisor, multiple));
}

std::int64_t Scale::parts(std::int64_t full) const { return divisor == 1 ? full : std::max<std::int64_t>(2, full / divisor); }

Value conv(Model& model, const Value& x, const std::string& place, const ConvOptions& options) {
  const std::int64_t inputs = x.dims[1] / options.groups;
  const double taps = static_cast<double>(inputs * options.kernel.height * options.kernel.width);
  std::vector<Value> operands{x, model.weight(place + ".weight", {options.channels, inputs, options.kernel.height, options.kernel.width},
                                              around_zero(std::sqrt(options.gain / taps)))};
  if (options.bias) operands.push_back(model.weight(place + ".bias", {options.channels}, {-0.1F, 0.1F}));
  const Dims pads{options.padding.height, options.padding.width, options.padding.height, options.padding.width};
  return model.node("Conv", place, operands,
                    {x.dims[0], options.channels, window_count(x.dims[2], options.kernel.height, options.stride, options.padding.height),
                     window_count(x.dims[3], options.kernel.width, options.stride, options.padding.width)},
                    {{"dilations", Dims{1, 1}},
                     {"group", options.groups},
                     {"kernel_shape", Dims{options.kernel.height, options.kernel.width}},
                     {"pads", pads},
                     {"strides", Dims(2, options.stride)}});
}

Value conv_transpose(Model& model, const Value& x, const std::string& place, std::int64_t channels) {
  const Value weight =
      model.weight(place + ".weight", {x.dims[1], channels, 2, 2}, around_zero(std::sqrt(2.0 / static_cast<double>(x.dims[1]))));
  const Value bias = model.weight(place + ".bias", {channels}, {-0.1F, 0.1F});
  return model.node(
      "ConvTranspose", place, std::array{x, weight, bias}, {x.dims[0], channels, 2 * x.dims[2], 2 * x.dims[3]},
      {{"dilations", Dims{1, 1}}, {"group", std::int64_t{1}}, {"kernel_shape", Dims{2, 2}}, {"pads", Dims(4, 0)}, {"strides", Dims{2, 2}}});
}

Value batch_norm(Model& model, const Value& x, const std::string& place, double scale, float epsilon) {
  const Dims channels{x.dims[1]};
  const auto factor = static_cast<float>(scale);
  const Value weight = model.weight(place + ".weight", channels, {0.8F * factor, 1.2F * factor});
  const Value bias = model.weight(place + ".bias", channels, {-0.1F, 0.1F});
  const Value mean = model.weight(place + ".running_mean", channels, {-0.1F, 0.1F}, false);
  const Value variance = model.weight(place + ".running_var", channels, {0.8F, 1.25F}, false);
  return model.node("BatchNormalization", place, std::array{x, weight, bias, mean, variance}, x.dims,
                    {{"epsilon", epsilon}, {"momentum", 0.9F}});
}

Value max_pool(Model& model, const Value& x, const std::string& place, const PoolOptions& options) {
  return pool(model, "MaxPool", x, place, options, {});
}

Value average_pool(Model& model, const Value& x, const std::string& place, const PoolOptions& options) {
  return pool(model, "AveragePool", x, place, options, {{"count_include_pad", std::int64_t{options.count_padding}}});
}

Value global_average_pool(Model& model, const Value& x, const std::string& place) {
  return model.node("GlobalAveragePool", place, std::array{x}, {x.dims[0], x.dims[1], 1, 1});
}

Value gemm(Model& model, const Value& x, const std::string& place, std::int64_t outputs) {
  const double deviation = std::sqrt(1.0 / static_cast<double>(x.dims[1]));
  const Value weight = model.weight(place + ".weight", {outputs, x.dims[1]}, around_zero(deviation));
  const Value bias = model.weight(place + ".bias", {outputs}, {-0.1F, 0.1F});
  return model.node("Gemm", place, std::array{x, weight, bias}, {x.dims[0], outputs},
                    {{"alpha", 1.0F}, {"beta", 1.0F}, {"transB", std::int64_t{1}}});
}

Value linear(Model& model, const Value& x, const std::string& place, std::int64_t outputs, bool bias, double scale) {
  const std::int64_t inputs = x.dims.back();
  const double deviation = scale * std::sqrt(1.0 / static_cast<double>(inputs));
  const Value product = matmul(model, x, model.weight(place + ".weight", {inputs, outputs}, around_zero(deviation)), place);
  if (!bias) return product;
  return add(model, model.weight(place + ".bias", {outputs}, {-0.1F, 0.1F}), product, place);
}

Value layer_norm(Model& model, const Value& x, const std::string& place) {
  const Value weight = model.weight(place + ".weight", {x.dims.back()}, {0.8F, 1.2F});
  const Value bias = model.weight(place + ".bias", {x.dims.back()}, {-0.1F, 0.1F});
  return model.node("LayerNormalization", place, std::array{x, weight, bias}, x.dims, {{"axis", std::int64_t{-1}}, {"epsilon", 1e-5F}});
}

Value softmax(Model& model, const Value& x, const std::string& place) {
  return model.node("Softmax", place, std::array{x}, x.dims, {{"axis", std::int64_t{-1}}});
}

Value gelu(Model& model, const Value& x, const std::string& place) {
  const Value scaled = binary(model, "Div", x, model.constant(place + ".sqrt2", 1.41421354F), place);
  const Value shifted = add(model, unary(model, "Erf", scaled, place), model.constant(place + ".one", 1), place);
  return times(model, binary(model, "Mul", x, shifted, place), 0.5F, place + "/half");
}

Value unary(Model& model, std::string_view op, const Value& x, const std::string& place) {
  return model.node(op, place, std::array{x}, x.dims);
}

Value silu(Model& model, const Value& x, const std::string& place) {
  return binary(model, "Mul", x, unary(model, "Sigmoid", x, place), place);
}

Value binary(Model& model, std::string_view op, const Value& a, const Value& b, const std::string& place) {
  Dims dims = a.dims.size() < b.dims.size() ? b.dims : a.dims;
  for (const Dims& operand : {a.dims, b.dims})
    for (std::size_t k = 1; k <= operand.size(); ++k) {
      std::int64_t& dim = dims[dims.size() - k];
      dim = std::max(dim, operand[operand.size() - k]);
    }
  return model.node(op, place, std::array{a, b}, std::move(dims));
}

Value relu(Model& model, const Value& x, const std::string& place) { return unary(model, "Relu", x, place); }

Value add(Model& model, const Value& a, const Value& b, const std::string& place) { return binary(model, "Add", a, b, place); }

Value times(Model& model, const Value& x, float number, const std::string& place) {
  return binary(model, "Mul", x, model.constant(place + ".factor", number), place);
}

Value matmul(Model& model, const Value& a, const Value& b, const std::string& place) {
  Dims dims = a.dims;
  dims.back() = b.dims.back();
  return model.node("MatMul", place, std::array{a, b}, std::move(dims));
}

Value concat(Model& model, std::span<const Value> parts, std::int64_t axis, const std::string& place) {
  Dims dims = parts.front().dims;
  std::int64_t& size = dims[axis < 0 ? dims.size() - static_cast<std::size_t>(-axis) : static_cast<std::size_t>(axis)];
  size = 0;
  for (const Value& part : parts) size += part.dims[static_cast<std::size_t>(&size - dims.data())];
  return model.node("Concat", place, parts, dims, {{"axis", axis}});
}

Value reshape(Model& model, const Value& x, Dims dims, const std::string& place) {
  return model.node("Reshape", place, std::array{x, model.integers(place + ".shape", dims)}, dims);
}

Value transpose(Model& model, const Value& x, const Dims& permutation, const std::string& place) {
  Dims dims;
  for (const std::int64_t axis : permutation) dims.push_back(x.dims[static_cast<std::size_t>(axis)]);
  return model.node("Transpose", place, std::array{x}, std::move(dims), {{"perm", permutation}});
}

Value slice(Model& model, const Value& x, std::int64_t axis, std::int64_t begin, std::int64_t end, const std::string& place) {
  Dims dims = x.dims;
  dims[static_cast<std::size_t>(axis)] = end - begin;
  const auto number = [&](const char* name, std::int64_t value) { return model.integers(place + name, {&value, 1}); };
  return model.node("Slice", place, std::array{x, number(".starts", begin), number(".ends", end), number(".axes", axis)}, std::move(dims));
}

Value flatten(Model& model, const Value& x, const std::string& place) {
  return model.node("Flatten", place, std::array{x}, {x.dims[0], count(x.dims) / x.dims[0]}, {{"axis", std::int64_t{1}}});
}

Value first_token(Model& model, const Value& x, const std::string& place) {
  const Value index = model.integer(place + ".index", 0);
  return model.node("Gather", place, std::array{x, index}, {x.dims[0], x.dims[2]}, {{"axis", std::int64_t{1}}});
}

Value doubled(Model& model, const Value& x, const std::string& place) {
  constexpr std::array kScales{1.0F, 1.0F, 2.0F, 2.0F};
  const Value scales = model.constant(place + ".scales", {4}, kScales);
  return model.node("Resize", place, std::array{x, Value{}, scales}, {x.dims[0], x.dims[1], 2 * x.dims[2], 2 * x.dims[3]},
                    {{"coordinate_transformation_mode", "asymmetric"}, {"mode", "nearest"}, {"nearest_mode", "floor"}});
}

Value split_heads(Model& model, const Value& x, std::int64_t heads, const std::string& place) {
  const Value split = reshape(model, x, {x.dims[0], x.dims[1], heads, x.dims[2] / heads}, place);
  return transpose(model, split, {0, 2, 1, 3}, place);
}

Value merge_heads(Model& model, const Value& x, const std::string& place) {
  const Value moved = transpose(model, x, {0, 2, 1, 3}, place);
  return reshape(model, moved, {moved.dims[0], moved.dims[1], moved.dims[2] * moved.dims[3]}, place);
}

Value feed_forward(Model& model, const Value& x, const FeedForwardPlaces& places) {
  const std::int64_t hidden = x.dims.back();
  const Value inner = gelu(model, linear(model, layer_norm(model, x, places.norm), places.up, 4 * hidden), places.activation);
  return add(model, x, linear(model, inner, places.down, hidden), "fed");
}

}  // namespace xflow::bench
