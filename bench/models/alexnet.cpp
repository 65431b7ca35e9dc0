// AlexNet (Krizhevsky: One weird trick for parallelizing convolutional neural networks, 2014; the variant for one device).
#include <algorithm>

#include "bench/models/families.h"

namespace xflow::bench {

Model alexnet(const Scale& scale) {
  Model model("alexnet");
  constexpr std::int64_t kLeast = 64;  // for the last pooling
  const std::int64_t image = std::max(kLeast, scale.size(224, 32));
  Value x = model.input("input", {scale.batch, 3, image, image});
  const auto layer = [&](const std::string& place, std::int64_t channels, std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
    const ConvOptions options{
        .channels = scale.channels(channels), .kernel = {kernel, kernel}, .stride = stride, .padding = {padding, padding}, .bias = true};
    x = relu(model, conv(model, x, place, options), place);
  };
  layer("features.0", 64, 11, 4, 2);
  x = max_pool(model, x, "features.2", {.kernel = 3, .stride = 2});
  layer("features.3", 192, 5, 1, 2);
  x = max_pool(model, x, "features.5", {.kernel = 3, .stride = 2});
  layer("features.6", 384, 3, 1, 1);
  layer("features.8", 256, 3, 1, 1);
  layer("features.10", 256, 3, 1, 1);
  x = max_pool(model, x, "features.12", {.kernel = 3, .stride = 2});
  x = flatten(model, x, "");
  x = relu(model, gemm(model, x, "classifier.1", scale.channels(4096)), "classifier");
  x = relu(model, gemm(model, x, "classifier.4", scale.channels(4096)), "classifier");
  model.output(gemm(model, x, "classifier.6", scale.channels(1000)));
  return model;
}

}  // namespace xflow::bench
