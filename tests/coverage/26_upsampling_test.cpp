#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

// Linear operators on the small side of an upsampling.
class Upsampling : public Coverage {
 protected:
  const Poly n = dim("N", 2);
  const ValueId x = input("x", {n, 8, 3, 4});
  const ValueId z = input("z", {n, 6, 6, 8});
  ValueId doubled(ValueId v) {
    return op(
        "resize", {v},
        {{"numerators", std::vector<Poly>{1, 1, 2, 2}}, {"denominators", std::vector<Poly>{1, 1, 1, 1}}, {"mode", std::string("nearest")}});
  }
};

TEST_F(Upsampling, AfterAConvolutionOfOnePixel) {
  EXPECT_EQ(search({conv(doubled(x), weight({5, 8, 1, 1}))}).form, "v1 = conv(x, [5, 8, 1, 1]); v2 = resize(v1); v2");
}

TEST_F(Upsampling, OfAPartOfTheChannels) {
  const ValueId y = conv(concat({doubled(x), z}, 1), weight({4, 14, 1, 1}));
  EXPECT_EQ(search({y}).form, "v1 = conv(x, [4, 8, 1, 1]); v2 = resize(v1); v3 = conv(z, [4, 6, 1, 1]); v4 = add(v2, v3); v4");
  EXPECT_EQ(search({y}, {.without = {"pointwise-convolution-of-upsampling-beside"}}).form,
            "v1 = resize(x); v2 = concat(v1, z); v3 = conv(v2, [4, 14, 1, 1]); v3");
  EXPECT_EQ(search({conv(concat({z, doubled(x)}, 1), weight({4, 14, 1, 1}))}).form,
            "v1 = conv(x, [4, 8, 1, 1]); v2 = resize(v1); v3 = conv(z, [4, 6, 1, 1]); v4 = add(v2, v3); v4");
}

TEST_F(Upsampling, OfASum) {
  const ValueId u = input("u", {n, 8, 3, 4});
  EXPECT_EQ(search({add(doubled(x), doubled(u))}).form, "v1 = add(x, u); v2 = resize(v1); v2");
}

TEST_F(Upsampling, InAConvolutionByPhases) {
  const ValueId y = conv(doubled(x), weight({8, 8, 3, 3}), 1);
  const SearchOptions device = {.device = {.launch = 10, .bandwidth = 1e12, .peak = 1e10}, .max_growth = 1};
  EXPECT_EQ(search({y}, device).form,
            "v1 = conv(x, [8, 8, 2, 2]); v2 = conv(x, [8, 8, 2, 2]); v3 = conv(x, [8, 8, 2, 2]); v4 = conv(x, [8, 8, 2, 2]); v5 = "
            "concat(v1, v2, v3, v4); v6 = depth_to_space(v5); v6");
  EXPECT_EQ(search({y}, {.device = device.device, .max_growth = 0.1}).form, "v1 = resize(x); v2 = conv(v1, [8, 8, 3, 3]); v2");
}

TEST_F(Upsampling, InAConvolutionOfRowsByPhases) {
  const ValueId row = input("row", {n, 8, 16});
  const ValueId twice = op("resize", {row}, {{"numerators", std::vector<Poly>{1, 1, 2}}, {"denominators", std::vector<Poly>{1, 1, 1}}});
  const SearchOptions device = {.device = {.launch = 10, .bandwidth = 1e12, .peak = 1e10}, .max_growth = 1};
  EXPECT_EQ(search({conv(twice, weight({8, 8, 3}), 1)}, device).form,
            "v1 = conv(row, [8, 8, 2]); v2 = reshape(v1); v3 = conv(row, [8, 8, 2]); v4 = reshape(v3); v5 = concat(v2, v4); v6 = "
            "reshape(v5); v6");
}

TEST_F(Upsampling, ByCentresIsTheSame) {
  const ValueId centred = op("resize", {x},
                             {{"numerators", std::vector<Poly>{1, 1, 3, 2}},
                              {"denominators", std::vector<Poly>{1, 1, 1, 1}},
                              {"coordinates", std::string("half_pixel")},
                              {"rounding", std::string("round_prefer_floor")}});
  EXPECT_EQ(search({conv(centred, weight({5, 8, 1, 1}))}).form, "v1 = conv(x, [5, 8, 1, 1]); v2 = resize(v1); v2");
  EXPECT_EQ(search({conv(centred, weight({5, 8, 1, 1}))}, {.without = {"upsampling-from-half-pixel"}}).form,
            "v1 = resize(x); v2 = conv(v1, [5, 8, 1, 1]); v2");
}

}  // namespace
}  // namespace xflow::coverage
