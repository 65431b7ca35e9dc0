// The decoder of Stable Diffusion's autoencoder (Rombach, Blattmann, Lorenz, Esser, Ommer: High-Resolution Image Synthesis with Latent
// Diffusion Models, 2022) for images of 256 x 256. A group normalisation is exported around InstanceNormalization, and each doubling of the
// image is a nearest Resize before a 3x3 convolution.
#include <array>
#include <cmath>

#include "bench/models/families.h"

namespace xflow::bench {
namespace {

Value conv3x3(Model& model, const Value& x, const std::string& place, std::int64_t channels) {
  return conv(model, x, place, {.channels = channels, .kernel = {3, 3}, .padding = {1, 1}, .bias = true});
}

// Of [N, C, ...]: reshaped to its groups, normalised, reshaped back; a factor and an offset for each channel.
Value group_norm(Model& model, const Value& x, const std::string& place, std::int64_t groups) {
  const std::vector<float> ones(static_cast<std::size_t>(groups), 1.0F);
  const std::vector<float> zeros(static_cast<std::size_t>(groups), 0.0F);
  const Value grouped = reshape(model, x, {x.dims[0], groups, count(x.dims) / x.dims[0] / groups}, place + ".groups");
  const std::array operands{grouped, model.constant(place + ".ones", {groups}, ones), model.constant(place + ".zeros", {groups}, zeros)};
  const Value normalised = model.node("InstanceNormalization", place, operands, grouped.dims, {{"epsilon", 1e-6F}});
  Dims channels(x.dims.size() - 1, 1);
  channels[0] = x.dims[1];
  const Value back = reshape(model, normalised, x.dims, place + ".channels");
  const Value scaled = binary(model, "Mul", back, model.weight(place + ".weight", channels, {0.8F, 1.2F}), place);
  return add(model, scaled, model.weight(place + ".bias", channels, {-0.1F, 0.1F}), place);
}

Value resnet(Model& model, const Value& x, const std::string& place, std::int64_t channels, std::int64_t groups) {
  Value y = silu(model, group_norm(model, x, place + ".norm1", groups), place);
  y = silu(model, group_norm(model, conv3x3(model, y, place + ".conv1", channels), place + ".norm2", groups), place);
  y = conv3x3(model, y, place + ".conv2", channels);
  if (x.dims[1] == channels) return add(model, x, y, place);
  return add(model, conv(model, x, place + ".conv_shortcut", {.channels = channels, .bias = true}), y, place);
}

// One head over all pixels.
Value attention(Model& model, const Value& x, const std::string& place, std::int64_t groups) {
  const std::int64_t hidden = x.dims[1];
  const Value flat = reshape(model, x, {x.dims[0], hidden, x.dims[2] * x.dims[3]}, place + ".pixels");
  const Value rows = transpose(model, group_norm(model, flat, place + ".group_norm", groups), {0, 2, 1}, place);
  const auto projected = [&](const char* name) { return split_heads(model, linear(model, rows, place + name, hidden), 1, place + name); };
  const auto factor = static_cast<float>(1 / std::sqrt(std::sqrt(static_cast<double>(hidden))));
  const Value query = times(model, projected(".to_q"), factor, place + ".to_q");
  const Value key = times(model, transpose(model, projected(".to_k"), {0, 1, 3, 2}, place), factor, place + ".to_k");
  const Value weights = softmax(model, matmul(model, query, key, place), place);
  const Value attended = merge_heads(model, matmul(model, weights, projected(".to_v"), place), place);
  const Value columns = transpose(model, linear(model, attended, place + ".to_out.0", hidden), {0, 2, 1}, place);
  return add(model, reshape(model, columns, x.dims, place + ".image"), x, place);
}

}  // namespace

Model vae_decoder(const Scale& scale) {
  Model model("vae_decoder");
  const std::int64_t latents = scale.size(32);
  const std::int64_t groups = scale.parts(32);
  Value x = model.input("latent_sample", {scale.batch, 4, latents, latents});
  x = conv(model, x, "post_quant_conv", {.channels = 4, .bias = true});
  x = conv3x3(model, x, "decoder.conv_in", scale.channels(512));
  const std::string middle = "decoder.mid_block";
  x = resnet(model, x, middle + ".resnets.0", x.dims[1], groups);
  x = attention(model, x, middle + ".attentions.0", groups);
  x = resnet(model, x, middle + ".resnets.1", x.dims[1], groups);
  constexpr std::array kWidths{512, 512, 256, 128};
  for (std::size_t k = 0; k < kWidths.size(); ++k) {
    const std::string place = "decoder.up_blocks." + std::to_string(k);
    for (int number = 0; number < 3; ++number)
      x = resnet(model, x, place + ".resnets." + std::to_string(number), scale.channels(kWidths[k]), groups);
    if (k + 1 == kWidths.size()) break;
    x = conv3x3(model, doubled(model, x, place + ".upsamplers.0"), place + ".upsamplers.0.conv", x.dims[1]);
  }
  x = silu(model, group_norm(model, x, "decoder.conv_norm_out", groups), "decoder.conv_act");
  model.output(conv3x3(model, x, "decoder.conv_out", 3));
  return model;
}

}  // namespace xflow::bench
