// Inception-v3 (Szegedy, Vanhoucke, Ioffe, Shlens, Wojna: Rethinking the Inception Architecture for Computer Vision, 2016) with batch
// normalisation as trained, without the auxiliary classifier, which exported models do not have.
#include <algorithm>
#include <array>

#include "bench/models/families.h"

namespace xflow::bench {
namespace {

// One model's convolutions with batch normalisation and relu, at its scale.
class Inception {
 public:
  Inception(Model& model, const Scale& scale) : model_(model), scale_(scale) {}

  Value conv(const Value& x, const std::string& place, std::int64_t channels, Window kernel = {}, std::int64_t stride = 1,
             Window padding = {0, 0}) {
    const ConvOptions options{.channels = scale_.channels(channels), .kernel = kernel, .stride = stride, .padding = padding};
    return relu(model_, batch_norm(model_, bench::conv(model_, x, place + ".conv", options), place + ".bn", 1, 1e-3F), place);
  }

  Value pool(const Value& x, const std::string& place) { return max_pool(model_, x, place, {.kernel = 3, .stride = 2}); }

  // Figure 5: 35 x 35.
  Value small(const Value& x, const std::string& place, std::int64_t pooled) {
    const Value one = conv(x, place + ".branch1x1", 64);
    const Value five = conv(conv(x, place + ".branch5x5_1", 48), place + ".branch5x5_2", 64, {5, 5}, 1, {2, 2});
    Value three = conv(conv(x, place + ".branch3x3dbl_1", 64), place + ".branch3x3dbl_2", 96, {3, 3}, 1, {1, 1});
    three = conv(three, place + ".branch3x3dbl_3", 96, {3, 3}, 1, {1, 1});
    return concat(model_, std::array{one, five, three, averaged(x, place, pooled)}, 1, place);
  }

  Value reduction_to_17(const Value& x, const std::string& place) {
    const Value three = conv(x, place + ".branch3x3", 384, {3, 3}, 2);
    Value twice = conv(conv(x, place + ".branch3x3dbl_1", 64), place + ".branch3x3dbl_2", 96, {3, 3}, 1, {1, 1});
    twice = conv(twice, place + ".branch3x3dbl_3", 96, {3, 3}, 2);
    return concat(model_, std::array{three, twice, pool(x, place)}, 1, place);
  }

  // Figure 6: 17 x 17, with 7x7 as 1x7 and 7x1.
  Value medium(const Value& x, const std::string& place, std::int64_t inner) {
    const Value one = conv(x, place + ".branch1x1", 192);
    Value seven = row(conv(x, place + ".branch7x7_1", inner), place + ".branch7x7_2", inner);
    seven = column(seven, place + ".branch7x7_3", 192);
    Value twice = column(conv(x, place + ".branch7x7dbl_1", inner), place + ".branch7x7dbl_2", inner);
    twice = column(row(twice, place + ".branch7x7dbl_3", inner), place + ".branch7x7dbl_4", inner);
    twice = row(twice, place + ".branch7x7dbl_5", 192);
    return concat(model_, std::array{one, seven, twice, averaged(x, place, 192)}, 1, place);
  }

  Value reduction_to_8(const Value& x, const std::string& place) {
    const Value three = conv(conv(x, place + ".branch3x3_1", 192), place + ".branch3x3_2", 320, {3, 3}, 2);
    Value seven = row(conv(x, place + ".branch7x7x3_1", 192), place + ".branch7x7x3_2", 192);
    seven = conv(column(seven, place + ".branch7x7x3_3", 192), place + ".branch7x7x3_4", 192, {3, 3}, 2);
    return concat(model_, std::array{three, seven, pool(x, place)}, 1, place);
  }

  // Figure 7: 8 x 8, with branches that fork.
  Value large(const Value& x, const std::string& place) {
    const Value one = conv(x, place + ".branch1x1", 320);
    const Value three = forked(conv(x, place + ".branch3x3_1", 384), place + ".branch3x3_2");
    const Value inner = conv(conv(x, place + ".branch3x3dbl_1", 448), place + ".branch3x3dbl_2", 384, {3, 3}, 1, {1, 1});
    const Value twice = forked(inner, place + ".branch3x3dbl_3");
    return concat(model_, std::array{one, three, twice, averaged(x, place, 192)}, 1, place);
  }

 private:
  Value row(const Value& x, const std::string& place, std::int64_t channels) { return conv(x, place, channels, {1, 7}, 1, {0, 3}); }
  Value column(const Value& x, const std::string& place, std::int64_t channels) { return conv(x, place, channels, {7, 1}, 1, {3, 0}); }

  Value forked(const Value& x, const std::string& place) {
    const Value a = conv(x, place + "a", 384, {1, 3}, 1, {0, 1});
    const Value b = conv(x, place + "b", 384, {3, 1}, 1, {1, 0});
    return concat(model_, std::array{a, b}, 1, place);
  }

  Value averaged(const Value& x, const std::string& place, std::int64_t channels) {
    const Value mean = average_pool(model_, x, place, {.kernel = 3, .padding = 1, .count_padding = true});
    return conv(mean, place + ".branch_pool", channels);
  }

  Model& model_;
  const Scale& scale_;
};

}  // namespace

Model inception_v3(const Scale& scale) {
  Model model("inception_v3");
  Inception net(model, scale);
  const std::int64_t image = std::max<std::int64_t>(75, scale.size(299));  // of 75 pixels one is left
  Value x = model.input("input", {scale.batch, 3, image, image});
  x = net.conv(x, "Conv2d_1a_3x3", 32, {3, 3}, 2);
  x = net.conv(x, "Conv2d_2a_3x3", 32, {3, 3});
  x = net.pool(net.conv(x, "Conv2d_2b_3x3", 64, {3, 3}, 1, {1, 1}), "maxpool1");
  x = net.conv(x, "Conv2d_3b_1x1", 80);
  x = net.pool(net.conv(x, "Conv2d_4a_3x3", 192, {3, 3}), "maxpool2");
  x = net.small(x, "Mixed_5b", 32);
  x = net.small(x, "Mixed_5c", 64);
  x = net.small(x, "Mixed_5d", 64);
  x = net.reduction_to_17(x, "Mixed_6a");
  x = net.medium(x, "Mixed_6b", 128);
  x = net.medium(x, "Mixed_6c", 160);
  x = net.medium(x, "Mixed_6d", 160);
  x = net.medium(x, "Mixed_6e", 192);
  x = net.reduction_to_8(x, "Mixed_7a");
  x = net.large(x, "Mixed_7b");
  x = net.large(x, "Mixed_7c");
  x = flatten(model, global_average_pool(model, x, "avgpool"), "");
  model.output(gemm(model, x, "fc", scale.channels(1000)));
  return model;
}

}  // namespace xflow::bench
