#include "bench/search/convolution_cases.h"

#include <algorithm>

#include "bench/search/graph_builder.h"

namespace xflow::bench {
namespace {

using ir::ValueId;

std::int64_t scaled(std::int64_t full, int divisor) { return std::max<std::int64_t>(4, full / divisor); }

struct Filter {
  ValueId weight;  // [outputs, inputs / groups, window...]
  ValueId bias;    // [outputs, 1, 1]
};

struct FilterDims {
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::int64_t window = 1;
};

Filter filter(GraphBuilder& b, const FilterDims& dims) {
  return {b.weight({dims.outputs, dims.inputs, dims.window, dims.window}), b.weight({dims.outputs, 1, 1})};
}

ValueId activated(GraphBuilder& b, ValueId x, const Filter& f) { return b.relu(b.add(b.conv(x, f.weight), f.bias)); }

// A convolution with batch normalisation, whose scale is not part of the weight.
struct Normalized {
  ValueId weight;
  ValueId scale;  // [outputs, 1, 1]
  ValueId shift;
  std::int64_t outputs = 0;
};

Normalized normalized(GraphBuilder& b, const FilterDims& dims) {
  const Filter f = filter(b, dims);
  return {f.weight, b.weight({dims.outputs, 1, 1}), f.bias, dims.outputs};
}

}  // namespace

Case inception_block(int channels, int divisor) {
  Case made;
  GraphBuilder b(*made.arena);
  const auto c = [&](std::int64_t full) { return scaled(full, divisor); };
  const ValueId x = b.input({1, c(channels), c(35), c(35)});
  const Filter one = filter(b, {c(channels), c(64)});
  const Filter to_five = filter(b, {c(channels), c(48)});
  const Filter five = filter(b, {c(48), c(64), 5});
  const Filter to_three = filter(b, {c(channels), c(64)});
  const Filter three = filter(b, {c(64), c(96), 3});
  const Filter last = filter(b, {c(96), c(96), 3});
  const Filter pooled = filter(b, {c(channels), c(32)});
  const auto outputs_of = [&](ValueId y_one, ValueId y_five, ValueId y_three) {
    const ValueId y_last = activated(b, activated(b, y_three, three), last);
    return b.concat({y_one, activated(b, y_five, five), y_last, activated(b, b.average_pool(x), pooled)}, 1);
  };
  made.graph.outputs = {outputs_of(activated(b, x, one), activated(b, x, to_five), activated(b, x, to_three))};

  // The three convolutions of x are one, with one bias and one relu.
  const ValueId weights = b.concat({one.weight, to_five.weight, to_three.weight}, 0);
  const ValueId biases = b.concat({one.bias, to_five.bias, to_three.bias}, 0);
  const std::vector<ValueId> parts = b.split(activated(b, x, {weights, biases}), 1, {c(64), c(48), c(64)});
  made.equivalents.push_back({{outputs_of(parts[0], parts[1], parts[2])}});

  // The branch of the pool as well: the mean of a convolution of 1x1 is the convolution of the mean. The biases and relus of the
  // branches are those of their concatenation.
  const ValueId all = b.conv(x, b.concat({one.weight, to_five.weight, to_three.weight, pooled.weight}, 0));
  const std::vector<ValueId> raw = b.split(all, 1, {c(64), c(48) + c(64), c(32)});
  const ValueId inner = b.relu(b.add(raw[1], b.concat({to_five.bias, to_three.bias}, 0)));
  const std::vector<ValueId> both = b.split(inner, 1, {c(48), c(64)});
  const ValueId y_last = b.conv(activated(b, both[1], three), last.weight);
  const ValueId together = b.concat({raw[0], b.conv(both[0], five.weight), y_last, b.average_pool(raw[2])}, 1);
  made.equivalents.push_back({{b.relu(b.add(together, b.concat({one.bias, five.bias, last.bias, pooled.bias}, 0)))}});
  return made;
}

Case fire_block(int image, int divisor) {
  Case made;
  GraphBuilder b(*made.arena);
  const bool first = image > 27;
  const std::int64_t inputs = scaled(first ? 64 : 512, divisor);
  const std::int64_t squeezed = scaled(first ? 16 : 64, divisor);
  const std::int64_t expanded = scaled(first ? 64 : 256, divisor);
  const ValueId x = b.input({1, inputs, scaled(image, divisor), scaled(image, divisor)});
  const ValueId s = activated(b, x, filter(b, {inputs, squeezed}));
  const Filter one = filter(b, {squeezed, expanded});
  const Filter three = filter(b, {squeezed, expanded, 3});
  made.graph.outputs = {b.concat({activated(b, s, one), activated(b, s, three)}, 1)};

  // One convolution of 3x3.
  const ValueId biases = b.concat({one.bias, three.bias}, 0);
  made.equivalents.push_back({{activated(b, s, {b.concat({b.enlarged(one.weight), three.weight}, 0), biases})}});
  // Two convolutions with one bias and one relu.
  const ValueId both = b.concat({b.conv(s, one.weight), b.conv(s, three.weight)}, 1);
  made.equivalents.push_back({{b.relu(b.add(both, biases))}});
  return made;
}

Case resnext_block(int channels, int divisor) {
  Case made;
  GraphBuilder b(*made.arena);
  const std::int64_t inputs = scaled(channels, divisor);
  const std::int64_t inner = scaled(128, divisor);
  const std::int64_t outputs = scaled(256, divisor);
  const std::int64_t groups = std::min<std::int64_t>(32, inner / 4);
  const bool has_shortcut = inputs != outputs;
  const ValueId x = b.input({1, inputs, scaled(56, divisor), scaled(56, divisor)});
  const Normalized first = normalized(b, {inputs, inner});
  const Normalized second = normalized(b, {inner / groups, inner, 3});
  const Normalized third = normalized(b, {inner, outputs});
  const Normalized shortcut = normalized(b, {inputs, outputs});

  const auto with_norm = [&](ValueId y, const Normalized& n, std::int64_t g = 1) {
    return b.add(b.mul(b.conv(y, n.weight, g), n.scale), n.shift);
  };
  const ValueId y = with_norm(b.relu(with_norm(b.relu(with_norm(x, first)), second, groups)), third);
  made.graph.outputs = {b.relu(b.add(y, has_shortcut ? with_norm(x, shortcut) : x))};

  // The scales are parts of the weights, and two shifts are one.
  const auto weight_of = [&](const Normalized& n) { return b.mul(n.weight, b.reshape(n.scale, {n.outputs, 1, 1, 1})); };
  const ValueId inside = b.relu(b.add(b.conv(x, weight_of(first)), first.shift));
  const ValueId z = b.relu(b.add(b.conv(inside, weight_of(second), groups), second.shift));
  if (!has_shortcut) {
    made.equivalents.push_back({{b.relu(b.add(b.add(b.conv(z, weight_of(third)), third.shift), x))}});
    return made;
  }
  const ValueId shift = b.add(third.shift, shortcut.shift);
  const ValueId sum = b.add(b.conv(z, weight_of(third)), b.conv(x, weight_of(shortcut)));
  made.equivalents.push_back({{b.relu(b.add(sum, shift))}});
  // The sum of two convolutions is one over the concatenated channels.
  const ValueId weights = b.concat({weight_of(third), weight_of(shortcut)}, 1);
  made.equivalents.push_back({{b.relu(b.add(b.conv(b.concat({z, x}, 1), weights), shift))}});
  return made;
}

}  // namespace xflow::bench
