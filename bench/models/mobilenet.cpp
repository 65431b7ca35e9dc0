// MobileNetV3 (Howard et al.: Searching for MobileNetV3, 2019; tables 1 and 2): inverted residuals, squeeze-and-excitation with a hard
// sigmoid, hard swish.
#include <algorithm>
#include <span>

#include "bench/models/families.h"

namespace xflow::bench {
namespace {

struct Row {
  int kernel;
  int expanded;
  int channels;
  bool excited;
  bool swish;  // hard swish, otherwise relu
  int stride;
};

constexpr Row kSmall[] = {
    {3, 16, 16, true, false, 2}, {3, 72, 24, false, false, 2}, {3, 88, 24, false, false, 1}, {5, 96, 40, true, true, 2},
    {5, 240, 40, true, true, 1}, {5, 240, 40, true, true, 1},  {5, 120, 48, true, true, 1},  {5, 144, 48, true, true, 1},
    {5, 288, 96, true, true, 2}, {5, 576, 96, true, true, 1},  {5, 576, 96, true, true, 1},
};
constexpr Row kLarge[] = {
    {3, 16, 16, false, false, 1}, {3, 64, 24, false, false, 2}, {3, 72, 24, false, false, 1}, {5, 72, 40, true, false, 2},
    {5, 120, 40, true, false, 1}, {5, 120, 40, true, false, 1}, {3, 240, 80, false, true, 2}, {3, 200, 80, false, true, 1},
    {3, 184, 80, false, true, 1}, {3, 184, 80, false, true, 1}, {3, 480, 112, true, true, 1}, {3, 672, 112, true, true, 1},
    {5, 672, 160, true, true, 2}, {5, 960, 160, true, true, 1}, {5, 960, 160, true, true, 1},
};

Value activated(Model& model, const Value& x, const std::string& place, bool swish) {
  return unary(model, swish ? "HardSwish" : "Relu", x, place);
}

// Convolution and batch normalisation.
Value conv_norm(Model& model, const Value& x, const std::string& place, const ConvOptions& options, double scale = 1) {
  return batch_norm(model, conv(model, x, place + ".0", options), place + ".1", scale, 1e-3F);
}

// A quarter of the channels, as a multiple of 8 that is not more than a tenth below.
std::int64_t quarter(std::int64_t channels) {
  const std::int64_t near = std::max<std::int64_t>(8, (channels / 4 + 4) / 8 * 8);
  return 10 * near < 9 * (channels / 4) ? near + 8 : near;
}

Value excited(Model& model, const Value& x, const std::string& place) {
  const Value mean = global_average_pool(model, x, place);
  const Value inner = relu(model, conv(model, mean, place + ".fc1", {.channels = quarter(x.dims[1]), .bias = true}), place);
  const Value gate = conv(model, inner, place + ".fc2", {.channels = x.dims[1], .bias = true});
  const Value open = model.node("HardSigmoid", place, std::span(&gate, 1), gate.dims, {{"alpha", 1.0F / 6}});
  return binary(model, "Mul", open, x, place);
}

Value inverted_residual(Model& model, const Value& x, const std::string& place, const Scale& scale, const Row& row) {
  const std::int64_t expanded = scale.channels(row.expanded);
  int part = 0;
  const auto next = [&] { return place + ".block." + std::to_string(part++); };
  Value y = x;
  if (row.expanded != 16) {  // the first block of both does not expand
    const std::string here = next();
    y = activated(model, conv_norm(model, y, here, {.channels = expanded}), here, row.swish);
  }
  const std::string here = next();
  const ConvOptions depthwise{.channels = expanded,
                              .kernel = {row.kernel, row.kernel},
                              .stride = row.stride,
                              .padding = {row.kernel / 2, row.kernel / 2},
                              .groups = expanded};
  y = activated(model, conv_norm(model, y, here, depthwise), here, row.swish);
  if (row.excited) y = excited(model, y, next());
  const bool residual = row.stride == 1 && x.dims[1] == scale.channels(row.channels);
  // A gate lets half through.
  y = conv_norm(model, y, next(), {.channels = scale.channels(row.channels)}, (row.excited ? 2 : 1) * (residual ? 0.5 : 1));
  return residual ? add(model, x, y, place) : y;
}

Model mobilenet(std::string name, const Scale& scale, std::span<const Row> rows, int last, int hidden) {
  Model model(std::move(name));
  const std::int64_t image = scale.size(224, 32);
  Value x = model.input("input", {scale.batch, 3, image, image});
  x = conv_norm(model, x, "features.0", {.channels = scale.channels(16), .kernel = {3, 3}, .stride = 2, .padding = {1, 1}});
  x = activated(model, x, "features.0", true);
  int number = 1;
  for (const Row& row : rows) x = inverted_residual(model, x, "features." + std::to_string(number++), scale, row);
  const std::string place = "features." + std::to_string(number);
  x = activated(model, conv_norm(model, x, place, {.channels = scale.channels(last)}), place, true);
  x = flatten(model, global_average_pool(model, x, "avgpool"), "");
  x = activated(model, gemm(model, x, "classifier.0", scale.channels(hidden)), "classifier.1", true);
  model.output(gemm(model, x, "classifier.3", scale.channels(1000)));
  return model;
}

}  // namespace

Model mobilenet_v3_small(const Scale& scale) { return mobilenet("mobilenet_v3_small", scale, kSmall, 576, 1024); }

Model mobilenet_v3_large(const Scale& scale) { return mobilenet("mobilenet_v3_large", scale, kLarge, 960, 1280); }

}  // namespace xflow::bench
