// U-Net (Ronneberger, Fischer, Brox: U-Net: Convolutional Networks for Biomedical Image Segmentation, 2015) as it is used since: padded
// convolutions, so that nothing is cropped, and batch normalisation; transposed convolutions on the way up.
#include <array>

#include "bench/models/families.h"

namespace xflow::bench {
namespace {

Value twice(Model& model, Value x, const std::string& place, std::int64_t channels) {
  for (const char* part : {".0", ".1"}) {
    x = conv(model, x, place + part + ".conv", {.channels = channels, .kernel = {3, 3}, .padding = {1, 1}});
    x = relu(model, batch_norm(model, x, place + part + ".bn"), place + part);
  }
  return x;
}

}  // namespace

Model unet(const Scale& scale) {
  Model model("unet");
  const std::int64_t image = scale.size(512, 16);
  Value x = model.input("input", {scale.batch, 3, image, image});
  std::vector<Value> skipped;
  for (int level = 0; level < 4; ++level) {
    skipped.push_back(twice(model, x, "down" + std::to_string(level), scale.channels(64 << level)));
    x = max_pool(model, skipped.back(), "down" + std::to_string(level), {.kernel = 2, .stride = 2});
  }
  x = twice(model, x, "bottom", scale.channels(1024));
  for (int level = 3; level >= 0; --level) {
    const std::string place = "up" + std::to_string(level);
    const Value larger = conv_transpose(model, x, place + ".up", scale.channels(64 << level));
    x = twice(model, concat(model, std::array{skipped[static_cast<std::size_t>(level)], larger}, 1, place), place, larger.dims[1]);
  }
  model.output(conv(model, x, "outc", {.channels = 2, .bias = true}));
  return model;
}

}  // namespace xflow::bench
