// SqueezeNet 1.1 (Iandola, Han, Moskewicz, Ashraf, Dally, Keutzer: SqueezeNet: AlexNet-level accuracy with 50x fewer parameters, 2016; the
// authors' later version with the same accuracy for less than half of the arithmetic).
#include <array>

#include "bench/models/families.h"

namespace xflow::bench {
namespace {

Value fire(Model& model, const Value& x, const std::string& place, std::int64_t squeezed, std::int64_t expanded) {
  const Value s = relu(model, conv(model, x, place + ".squeeze", {.channels = squeezed, .bias = true}), place);
  const Value one = relu(model, conv(model, s, place + ".expand1x1", {.channels = expanded, .bias = true}), place);
  const Value three =
      relu(model, conv(model, s, place + ".expand3x3", {.channels = expanded, .kernel = {3, 3}, .padding = {1, 1}, .bias = true}), place);
  return concat(model, std::array{one, three}, 1, place);
}

}  // namespace

Model squeezenet(const Scale& scale) {
  Model model("squeezenet");
  const std::int64_t image = scale.size(224, 32);
  Value x = model.input("input", {scale.batch, 3, image, image});
  x = conv(model, x, "features.0", {.channels = scale.channels(64), .kernel = {3, 3}, .stride = 2, .bias = true});
  x = relu(model, x, "features.0");
  constexpr std::array<std::array<int, 2>, 8> kFires{
      {{16, 64}, {16, 64}, {32, 128}, {32, 128}, {48, 192}, {48, 192}, {64, 256}, {64, 256}}};
  for (std::size_t k = 0; k < kFires.size(); ++k) {
    if (k == 0 || k == 2 || k == 4) x = max_pool(model, x, "features", {.kernel = 3, .stride = 2, .ceil = true});
    x = fire(model, x, "features.fire" + std::to_string(k + 2), scale.channels(kFires[k][0]), scale.channels(kFires[k][1]));
  }
  x = relu(model, conv(model, x, "classifier.1", {.channels = scale.channels(1000), .bias = true}), "classifier");
  model.output(flatten(model, global_average_pool(model, x, "classifier"), ""));
  return model;
}

}  // namespace xflow::bench
