// NASNet-A (4 @ 1056), the mobile variant (Zoph, Vasudevan, Shlens, Le: Learning Transferable Architectures for Scalable Image Recognition,
// 2018, figure 4 and appendix A): a convolution, two reduction cells, and three times four normal cells with reductions in between. Filters
// are 44 at first and double with each reduction. Separable convolutions are applied twice.
#include <array>

#include "bench/models/families.h"

namespace xflow::bench {
namespace {

constexpr double kAfterRelu = 1.2;  // less than 2: a cell adds up two branches everywhere

Value normalized(Model& model, const Value& x, const std::string& place) { return batch_norm(model, x, place, 1, 1e-3F); }

// relu, depthwise and pointwise convolution, batch normalisation, all of it twice.
Value separable(Model& model, const Value& x, const std::string& place, std::int64_t filters, std::int64_t kernel, std::int64_t stride) {
  Value y = x;
  for (const int pass : {1, 2}) {
    const std::string here = place + ".separable_" + std::to_string(pass);
    const std::int64_t channels = y.dims[1];
    y = conv(model, relu(model, y, here), here + ".depthwise",
             {.channels = channels,
              .kernel = {kernel, kernel},
              .stride = pass == 1 ? stride : 1,
              .padding = {kernel / 2, kernel / 2},
              .groups = channels});
    y = conv(model, y, here + ".pointwise", {.channels = filters, .gain = 1});
    y = normalized(model, y, here + ".bn");
  }
  return y;
}

Value squeezed(Model& model, const Value& x, const std::string& place, std::int64_t filters) {
  const Value y = conv(model, relu(model, x, place), place + ".conv", {.channels = filters, .gain = kAfterRelu});
  return normalized(model, y, place + ".bn");
}

// Half of the size: two 1x1 convolutions with stride 2, the second of the image moved by a pixel.
Value halved(Model& model, const Value& x, const std::string& place, std::int64_t filters) {
  const Value y = relu(model, x, place);
  const PoolOptions every_other{.kernel = 1, .stride = 2};
  const Value first = conv(model, average_pool(model, y, place + ".path_1", every_other), place + ".path_1.conv",
                           {.channels = filters / 2, .gain = kAfterRelu});
  const Dims end{0, 0, 0, 0, 0, 0, 1, 1};
  Value moved =
      model.node("Pad", place, std::array{y, model.integers(place + ".pads", end)}, {y.dims[0], y.dims[1], y.dims[2] + 1, y.dims[3] + 1});
  for (const std::int64_t axis : {2, 3}) moved = slice(model, moved, axis, 1, y.dims[2] + 1, place + ".path_2.axis" + std::to_string(axis));
  const Value second = conv(model, average_pool(model, moved, place + ".path_2", every_other), place + ".path_2.conv",
                            {.channels = filters - filters / 2, .gain = kAfterRelu});
  return normalized(model, concat(model, std::array{first, second}, 1, place), place + ".bn");
}

// What a cell computes on: the output of the cell before and of the one before that, with the same filters and size.
struct Pair {
  Value current;
  Value previous;
};

Pair fitted(Model& model, const Pair& cells, const std::string& place, std::int64_t filters) {
  const bool larger = cells.previous.dims[2] != cells.current.dims[2];
  return {squeezed(model, cells.current, place + ".conv_1x1", filters),
          larger ? halved(model, cells.previous, place + ".prev", filters) : squeezed(model, cells.previous, place + ".prev", filters)};
}

Value average(Model& model, const Value& x, const std::string& place, std::int64_t stride = 1) {
  return average_pool(model, x, place, {.kernel = 3, .stride = stride, .padding = 1});
}

Value normal_cell(Model& model, const Pair& cells, const std::string& place, std::int64_t filters) {
  const auto [current, previous] = fitted(model, cells, place, filters);
  const auto made = [&](const Value& x, const char* name, std::int64_t kernel) {
    return separable(model, x, place + name, filters, kernel, 1);
  };
  const std::array blocks{
      previous,
      add(model, made(current, ".comb_0_left", 5), made(previous, ".comb_0_right", 3), place),
      add(model, made(previous, ".comb_1_left", 5), made(previous, ".comb_1_right", 3), place),
      add(model, average(model, current, place), previous, place),
      add(model, average(model, previous, place), average(model, previous, place), place),
      add(model, made(current, ".comb_4_left", 3), current, place),
  };
  return concat(model, blocks, 1, place);
}

Value reduction_cell(Model& model, const Pair& fit, const std::string& place, std::int64_t filters) {
  const Value& current = fit.current;
  const Value& previous = fit.previous;
  const auto made = [&](const Value& x, const char* name, std::int64_t kernel, std::int64_t stride = 2) {
    return separable(model, x, place + name, filters, kernel, stride);
  };
  const auto largest = [&] { return max_pool(model, current, place, {.kernel = 3, .stride = 2, .padding = 1}); };
  const Value block0 = add(model, made(current, ".comb_0_left", 5), made(previous, ".comb_0_right", 7), place);
  const Value block1 = add(model, largest(), made(previous, ".comb_1_right", 7), place);
  const Value block2 = add(model, average(model, current, place, 2), made(previous, ".comb_2_right", 5), place);
  const Value block3 = add(model, average(model, block0, place), block1, place);
  const Value block4 = add(model, made(block0, ".comb_4_left", 3, 1), largest(), place);
  return concat(model, std::array{block1, block2, block3, block4}, 1, place);
}

}  // namespace

Model nasnet_a(const Scale& scale) {
  Model model("nasnet_a");
  const std::int64_t filters = scale.divisor == 1 ? 44 : 4 * ((44 / scale.divisor + 7) / 4);
  const std::int64_t image = scale.size(224, 32);
  Value x = model.input("input", {scale.batch, 3, image, image});
  x = normalized(model, conv(model, x, "conv0.conv", {.channels = scale.channels(32), .kernel = {3, 3}, .stride = 2}), "conv0.bn");

  // The first stem cell has one operand, which is not squeezed where it stands for the cell before.
  const Pair first{squeezed(model, x, "cell_stem_0.conv_1x1", filters / 4), x};
  Pair cells{reduction_cell(model, first, "cell_stem_0", filters / 4), x};
  const Value stem = reduction_cell(model, fitted(model, cells, "cell_stem_1", filters / 2), "cell_stem_1", filters / 2);
  cells = {stem, cells.current};
  int number = 0;
  for (const std::int64_t factor : {1, 2, 4}) {
    if (factor > 1) {
      const std::string place = "reduction_cell_" + std::to_string(factor / 2 - 1);
      cells = {reduction_cell(model, fitted(model, cells, place, factor * filters), place, factor * filters), cells.current};
    }
    for (int k = 0; k < 4; ++k) cells = {normal_cell(model, cells, "cell_" + std::to_string(number++), factor * filters), cells.current};
  }
  x = flatten(model, global_average_pool(model, relu(model, cells.current, ""), "avgpool"), "");
  model.output(gemm(model, x, "last_linear", scale.channels(1000)));
  return model;
}

}  // namespace xflow::bench
