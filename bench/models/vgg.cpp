// VGG-19 (Simonyan, Zisserman: Very Deep Convolutional Networks for Large-Scale Image Recognition, 2015; configuration E).
#include <array>

#include "bench/models/families.h"

namespace xflow::bench {

Model vgg19(const Scale& scale) {
  Model model("vgg19");
  const std::int64_t image = scale.size(224, 32);
  Value x = model.input("input", {scale.batch, 3, image, image});
  constexpr std::array<std::pair<int, int>, 5> kStages{{{2, 64}, {2, 128}, {4, 256}, {4, 512}, {4, 512}}};  // convolutions, channels
  int number = 0;
  for (const auto& [convolutions, channels] : kStages) {
    for (int k = 0; k < convolutions; ++k) {
      const std::string place = "features." + std::to_string(number++);
      x = conv(model, x, place, {.channels = scale.channels(channels), .kernel = {3, 3}, .padding = {1, 1}, .bias = true});
      x = relu(model, x, place);
    }
    x = max_pool(model, x, "features", {.kernel = 2, .stride = 2});
  }
  x = flatten(model, x, "");
  x = relu(model, gemm(model, x, "classifier.0", scale.channels(4096)), "classifier");
  x = relu(model, gemm(model, x, "classifier.3", scale.channels(4096)), "classifier");
  model.output(gemm(model, x, "classifier.6", scale.channels(1000)));
  return model;
}

}  // namespace xflow::bench
