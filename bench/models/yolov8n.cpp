// YOLOv8-n (Jocher, Chaurasia, Qiu: Ultralytics YOLO, 2023; depth 0.33, width 0.25) as its exporter writes it: batch normalisation folded,
// the boxes of all three levels decoded in the model. SiLU is two nodes.
#include <algorithm>
#include <array>
#include <span>

#include "bench/models/families.h"

namespace xflow::bench {
namespace {

Value conv_silu(Model& model, const Value& x, const std::string& place, std::int64_t channels, std::int64_t kernel = 1,
                std::int64_t stride = 1) {
  const std::int64_t half = kernel / 2;
  const Value made = conv(model, x, place + ".conv",
                          {.channels = channels, .kernel = {kernel, kernel}, .stride = stride, .padding = {half, half}, .bias = true});
  return silu(model, made, place + ".act");
}

std::vector<Value> split(Model& model, const Value& x, std::int64_t first, const std::string& place) {
  const Dims sizes{first, x.dims[1] - first};
  std::vector<Dims> outputs(2, x.dims);
  for (std::size_t k = 0; k < 2; ++k) outputs[k][1] = sizes[k];
  return model.node("Split", place, std::array{x, model.integers(place + ".split", sizes)}, outputs, {{"axis", std::int64_t{1}}});
}

// Two halves of a convolution's channels; each bottleneck works on the result of the one before, and all of them are joined.
Value c2f(Model& model, const Value& x, const std::string& place, std::int64_t channels, int bottlenecks, bool shortcut) {
  std::vector<Value> parts = split(model, conv_silu(model, x, place + ".cv1", channels), channels / 2, place);
  for (int k = 0; k < bottlenecks; ++k) {
    const std::string inner = place + ".m." + std::to_string(k);
    const Value y = conv_silu(model, conv_silu(model, parts.back(), inner + ".cv1", channels / 2, 3), inner + ".cv2", channels / 2, 3);
    parts.push_back(shortcut ? add(model, parts.back(), y, inner) : y);
  }
  return conv_silu(model, concat(model, parts, 1, place), place + ".cv2", channels);
}

// A pyramid of three maxima over windows of 5, each of the one before.
Value pyramid(Model& model, const Value& x, const std::string& place) {
  std::vector<Value> parts{conv_silu(model, x, place + ".cv1", x.dims[1] / 2)};
  for (int k = 0; k < 3; ++k) parts.push_back(max_pool(model, parts.back(), place + ".m", {.kernel = 5, .padding = 2}));
  return conv_silu(model, concat(model, parts, 1, place), place + ".cv2", x.dims[1]);
}

constexpr std::int64_t kBins = 16;  // of a distance to a side of a box

// Of each level the distances in bins and the scores of classes, [N, 4 · bins + classes, pixels].
Value heads(Model& model, std::span<const Value> levels, std::int64_t classes) {
  const std::int64_t box = std::max(levels[0].dims[1] / 4, 4 * kBins);
  const std::int64_t wide = std::max(levels[0].dims[1], classes);
  std::vector<Value> parts;
  for (std::size_t k = 0; k < levels.size(); ++k) {
    const auto branch = [&](const std::string& name, std::int64_t inner, std::int64_t outputs) {
      const std::string place = "model.22." + name + "." + std::to_string(k);
      const Value y = conv_silu(model, conv_silu(model, levels[k], place + ".0", inner, 3), place + ".1", inner, 3);
      return conv(model, y, place + ".2", {.channels = outputs, .bias = true});
    };
    const Value both = concat(model, std::array{branch("cv2", box, 4 * kBins), branch("cv3", wide, classes)}, 1, "model.22");
    parts.push_back(reshape(model, both, {both.dims[0], both.dims[1], both.dims[2] * both.dims[3]}, "model.22." + std::to_string(k)));
  }
  return concat(model, parts, 2, "model.22");
}

// The expected distance: a softmax over the bins times their numbers, as a convolution. [N, 4 · bins, P] -> [N, 4, P].
Value distances(Model& model, const Value& x) {
  const std::int64_t samples = x.dims[0];
  const std::int64_t pixels = x.dims[2];
  const std::string place = "model.22.dfl";
  const Value bins = transpose(model, reshape(model, x, {samples, 4, kBins, pixels}, place + ".bins"), {0, 2, 1, 3}, place);
  const Value weights = model.node("Softmax", place, std::array{bins}, bins.dims, {{"axis", std::int64_t{1}}});
  std::array<float, kBins> numbers{};
  for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = static_cast<float>(k);
  const Value kernel = model.constant(place + ".conv.weight", {1, kBins, 1, 1}, numbers);
  const Value mean =
      model.node("Conv", place + ".conv", std::array{weights, kernel}, {samples, 1, 4, pixels}, {{"kernel_shape", Dims{1, 1}}});
  return reshape(model, mean, {samples, 4, pixels}, place + ".mean");
}

// Centres and sizes of boxes in pixels of the image, and the probabilities of classes.
Value decoded(Model& model, const Value& x, std::span<const Value> levels) {
  const std::string place = "model.22";
  const std::vector<Value> parts = split(model, x, 4 * kBins, place);
  std::array<std::vector<float>, 2> centres;  // x, y
  std::vector<float> strides;
  float stride = 8;
  for (const Value& level : levels) {
    for (std::int64_t row = 0; row < level.dims[2]; ++row)
      for (std::int64_t column = 0; column < level.dims[3]; ++column) {
        centres[0].push_back(static_cast<float>(column) + 0.5F);
        centres[1].push_back(static_cast<float>(row) + 0.5F);
        strides.push_back(stride);
      }
    stride *= 2;
  }
  const std::int64_t pixels = x.dims[2];
  std::vector<float> anchors = centres[0];
  anchors.insert(anchors.end(), centres[1].begin(), centres[1].end());
  const Value anchor = model.constant(place + ".anchors", {1, 2, pixels}, anchors);
  const Value distance = distances(model, parts[0]);
  const Value low = binary(model, "Sub", anchor, slice(model, distance, 1, 0, 2, place + ".low"), place);
  const Value high = add(model, anchor, slice(model, distance, 1, 2, 4, place + ".high"), place);
  const Value centre = binary(model, "Div", add(model, low, high, place), model.constant(place + ".two", 2), place);
  const Value boxes = concat(model, std::array{centre, binary(model, "Sub", high, low, place)}, 1, place);
  const Value scaled = binary(model, "Mul", boxes, model.constant(place + ".strides", {1, pixels}, strides), place);
  return concat(model, std::array{scaled, unary(model, "Sigmoid", parts[1], place)}, 1, place);
}

}  // namespace

Model yolov8n(const Scale& scale) {
  Model model("yolov8n");
  const std::int64_t image = scale.size(640, 32);
  const auto place = [](int number) { return "model." + std::to_string(number); };
  Value x = model.input("images", {scale.batch, 3, image, image});
  x = conv_silu(model, x, place(0), scale.channels(16), 3, 2);
  std::vector<Value> backbone;                                                                   // at 1/4, 1/8, 1/16 and 1/32 of the image
  constexpr std::array<std::pair<int, int>, 4> kStages{{{32, 1}, {64, 2}, {128, 2}, {256, 1}}};  // channels, bottlenecks
  for (int k = 0; k < 4; ++k) {
    const auto [width, bottlenecks] = kStages[static_cast<std::size_t>(k)];
    x = conv_silu(model, x, place(2 * k + 1), scale.channels(width), 3, 2);
    x = c2f(model, x, place(2 * k + 2), scale.channels(width), bottlenecks, true);
    backbone.push_back(x);
  }
  const Value deep = pyramid(model, x, place(9));
  const auto joined = [&](const Value& a, const Value& b, int number) { return concat(model, std::array{a, b}, 1, place(number)); };
  const Value middle = c2f(model, joined(doubled(model, deep, place(10)), backbone[2], 11), place(12), scale.channels(128), 1, false);
  const Value fine = c2f(model, joined(doubled(model, middle, place(13)), backbone[1], 14), place(15), scale.channels(64), 1, false);
  const Value down = conv_silu(model, fine, place(16), scale.channels(64), 3, 2);
  const Value medium = c2f(model, joined(down, middle, 17), place(18), scale.channels(128), 1, false);
  const Value lower = conv_silu(model, medium, place(19), scale.channels(128), 3, 2);
  const Value coarse = c2f(model, joined(lower, deep, 20), place(21), scale.channels(256), 1, false);
  const std::array levels{fine, medium, coarse};
  model.output(decoded(model, heads(model, levels, scale.channels(80)), levels));
  return model;
}

}  // namespace xflow::bench
