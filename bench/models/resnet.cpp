// ResNet-50 (He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition, 2016; the stride is at the 3x3 convolution, as in the
// version that is trained today) and ResNeXt-50 32x4d (Xie, Girshick, Dollár, Tu, He: Aggregated Residual Transformations for Deep Neural
// Networks, 2017): convolutions and batch normalisations as trained, not folded.
#include <array>

#include "bench/models/families.h"

namespace xflow::bench {
namespace {

struct Width {
  std::int64_t inner = 0;   // of the 3x3 convolution
  std::int64_t groups = 1;  // of it
  std::int64_t outer = 0;
};

Value conv_norm(Model& model, const Value& x, const std::string& place, int number, const ConvOptions& options, double scale = 1) {
  const Value made = conv(model, x, place + ".conv" + std::to_string(number), options);
  return batch_norm(model, made, place + ".bn" + std::to_string(number), scale);
}

Value bottleneck(Model& model, const Value& x, const std::string& place, const Width& width, std::int64_t stride) {
  Value y = relu(model, conv_norm(model, x, place, 1, {.channels = width.inner}), place);
  y = conv_norm(model, y, place, 2,
                {.channels = width.inner, .kernel = {3, 3}, .stride = stride, .padding = {1, 1}, .groups = width.groups});
  // A branch adds little to what it is added to, as trained (Goyal et al. 2017 start it at 0).
  y = conv_norm(model, relu(model, y, place), place, 3, {.channels = width.outer}, 0.4);
  if (x.dims[1] == width.outer) return relu(model, add(model, y, x, place), place);
  const Value shortcut = conv(model, x, place + ".downsample.0", {.channels = width.outer, .stride = stride});
  return relu(model, add(model, y, batch_norm(model, shortcut, place + ".downsample.1"), place), place);
}

Model residual(std::string name, const Scale& scale, std::int64_t groups, std::int64_t group_width) {
  Model model(std::move(name));
  const std::int64_t image = scale.size(224, 32);
  Value x = model.input("input", {scale.batch, 3, image, image});
  x = conv(model, x, "conv1", {.channels = scale.channels(64), .kernel = {7, 7}, .stride = 2, .padding = {3, 3}});
  x = relu(model, batch_norm(model, x, "bn1"), "");
  x = max_pool(model, x, "maxpool", {.kernel = 3, .stride = 2, .padding = 1});
  constexpr std::array<int, 4> kDepths{3, 4, 6, 3};
  for (std::size_t stage = 0; stage < kDepths.size(); ++stage) {
    const std::int64_t parts = groups == 1 ? 1 : scale.parts(groups);
    const std::int64_t inner = groups == 1 ? scale.channels(group_width << stage) : parts * (group_width << stage);
    const Width width{inner, parts, scale.channels(std::int64_t{256} << stage)};
    for (int block = 0; block < kDepths[stage]; ++block) {
      const std::string place = "layer" + std::to_string(stage + 1) + "." + std::to_string(block);
      x = bottleneck(model, x, place, width, stage > 0 && block == 0 ? 2 : 1);
    }
  }
  x = flatten(model, global_average_pool(model, x, "avgpool"), "");
  model.output(gemm(model, x, "fc", scale.channels(1000)));
  return model;
}

}  // namespace

Model resnet50(const Scale& scale) { return residual("resnet50", scale, 1, 64); }

Model resnext50(const Scale& scale) { return residual("resnext50", scale, 32, 4); }

}  // namespace xflow::bench
