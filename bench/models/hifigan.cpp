// The generator of HiFi-GAN V1 (Kong, Kim, Bae: HiFi-GAN: Generative Adversarial Networks for Efficient and High Fidelity Speech Synthesis,
// 2020), weight normalisation removed: 32 frames of 80 mel bands to 8,192 samples, by transposed convolutions of one dimension, and after
// each the mean of three chains of dilated convolutions.
#include <array>
#include <cmath>

#include "bench/models/families.h"

namespace xflow::bench {
namespace {

struct Shape {
  std::int64_t channels = 0;
  std::int64_t kernel = 0;
  std::int64_t dilation = 1;
  double gain = 2;  // as of ConvOptions
};

// As long as its operand.
Value conv_1d(Model& model, const Value& x, const std::string& place, const Shape& shape) {
  const double taps = static_cast<double>(x.dims[1] * shape.kernel);
  const Value weight =
      model.weight(place + ".weight", {shape.channels, x.dims[1], shape.kernel}, around_zero(std::sqrt(shape.gain / taps)));
  const Value bias = model.weight(place + ".bias", {shape.channels}, {-0.1F, 0.1F});
  return model.node("Conv", place, std::array{x, weight, bias}, {x.dims[0], shape.channels, x.dims[2]},
                    {{"dilations", Dims{shape.dilation}},
                     {"group", std::int64_t{1}},
                     {"kernel_shape", Dims{shape.kernel}},
                     {"pads", Dims(2, (shape.kernel - 1) * shape.dilation / 2)},
                     {"strides", Dims{1}}});
}

// `rate` times as long.
Value longer(Model& model, const Value& x, const std::string& place, std::int64_t channels, std::int64_t kernel, std::int64_t rate) {
  const double taps = static_cast<double>(x.dims[1] * kernel) / static_cast<double>(rate);
  const Value weight = model.weight(place + ".weight", {x.dims[1], channels, kernel}, around_zero(std::sqrt(2 / taps)));
  const Value bias = model.weight(place + ".bias", {channels}, {-0.1F, 0.1F});
  return model.node("ConvTranspose", place, std::array{x, weight, bias}, {x.dims[0], channels, rate * x.dims[2]},
                    {{"dilations", Dims{1}},
                     {"group", std::int64_t{1}},
                     {"kernel_shape", Dims{kernel}},
                     {"pads", Dims(2, (kernel - rate) / 2)},
                     {"strides", Dims{rate}}});
}

Value leaky(Model& model, const Value& x, const std::string& place, float slope = 0.1F) {
  return model.node("LeakyRelu", place, std::array{x}, x.dims, {{"alpha", slope}});
}

// Three times a dilated convolution and one that is not, added to what they read.
Value residual(Model& model, Value x, const std::string& place, std::int64_t kernel) {
  constexpr std::array kDilations{1, 3, 5};
  for (std::size_t k = 0; k < kDilations.size(); ++k) {
    const std::string number = std::to_string(k);
    const Shape dilated{x.dims[1], kernel, kDilations[k]};
    const Value y = conv_1d(model, leaky(model, x, place), place + ".convs1." + number, dilated);
    x = add(model, conv_1d(model, leaky(model, y, place), place + ".convs2." + number, {x.dims[1], kernel, 1, 0.5}), x, place);
  }
  return x;
}

}  // namespace

Model hifigan(const Scale& scale) {
  Model model("hifigan");
  Value x = model.input("mel", {scale.batch, scale.channels(80), scale.size(32)});
  x = conv_1d(model, x, "conv_pre", {scale.channels(512), 7});
  constexpr std::array<std::pair<int, int>, 4> kRates{{{8, 16}, {8, 16}, {2, 4}, {2, 4}}};  // rate, kernel
  constexpr std::array kKernels{3, 7, 11};
  for (std::size_t k = 0; k < kRates.size(); ++k) {
    const std::string place = "ups." + std::to_string(k);
    x = longer(model, leaky(model, x, place), place, scale.channels(256 >> k), kRates[k].second, kRates[k].first);
    const auto branch = [&](std::size_t number) {
      return residual(model, x, "resblocks." + std::to_string(kKernels.size() * k + number), kKernels[number]);
    };
    Value sum = branch(0);
    for (std::size_t number = 1; number < kKernels.size(); ++number) sum = add(model, sum, branch(number), place);
    x = binary(model, "Div", sum, model.constant(place + ".branches", static_cast<float>(kKernels.size())), place);
  }
  x = conv_1d(model, leaky(model, x, "conv_post", 0.01F), "conv_post", {1, 7, 1, 0.5});
  model.output(unary(model, "Tanh", x, ""));
  return model;
}

}  // namespace xflow::bench
