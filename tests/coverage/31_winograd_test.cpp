#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

// Convolutions with 3x3 windows by products of transformed windows.
class Winograd : public Coverage {
 protected:
  // Operations take the time.
  const SearchOptions device = {.device = {.launch = 10, .bandwidth = 1e13, .peak = 1e9}, .max_growth = 20};
};

TEST_F(Winograd, OfAnImageWithEvenSizes) {
  const ValueId y = conv(input("x", {dim("N", 1), 64, 8, 6}), weight({64, 64, 3, 3}), 1);
  EXPECT_EQ(
      search({y}, device).form,
      "v1 = conv(x, [1024, 1, 4, 4], groups: 64); v2 = reshape(v1); v3 = transpose(v2); v4 = matmul([16, 64, 64], v3); v5 = reshape(v4); "
      "v6 = matmul([4, 16], v5); v7 = reshape(v6); v8 = depth_to_space(v7); v8");
  SearchOptions small = device;
  small.max_growth = 0.5;
  EXPECT_EQ(search({y}, small).form, "v1 = conv(x, [64, 64, 3, 3]); v1") << "the weights would become 16/9 times as large";
}

TEST_F(Winograd, IsLeftAloneWhereOperationsCostLittle) {
  const ValueId y = conv(input("x", {dim("N", 1), 64, 8, 6}), weight({64, 64, 3, 3}), 1);
  EXPECT_EQ(search({y}, {.device = {.launch = 1000, .bandwidth = 1e9, .peak = 1e12}, .max_growth = 20}).form,
            "v1 = conv(x, [64, 64, 3, 3]); v1");
}

TEST_F(Winograd, WithAnyPadding) {
  const Graph graph{{op("conv", {input("x", {2, 8, 7, 4}), weight({9, 8, 3, 3})}, {{"pads", std::vector<Poly>{0, 2, 1, 0}}})}};
  EXPECT_EQ(count(apply("winograd-convolution", graph), "depth_to_space"), 1U);
}

TEST_F(Winograd, OfAnImageWithOddSizes) {
  const Graph graph{{conv(input("x", {2, 9, 7, 5}), weight({8, 9, 3, 3}), 1)}};
  EXPECT_EQ(count(apply("winograd-convolution-of-odd-image", graph), "slice"), 1U);
}

TEST_F(Winograd, OfRows) {
  const Graph graph{{op("conv", {input("x", {2, 8, 9}), weight({8, 8, 3})}, {{"pads", std::vector<Poly>{1, 2}}})}};
  EXPECT_EQ(count(apply("winograd-convolution-of-rows", graph), "matmul"), 2U);
}

// The rules claim the class rounding: terms that cancel are a few times as large as the result. The check of a rewritten part allows errors
// of 1e-5 of the largest magnitude more than four times the original's.
TEST_F(Winograd, HasErrorsOfAFewRoundings) {
  for (const std::int64_t channels : {8, 64, 256}) {
    const std::string number = std::to_string(channels);
    const Graph image{{conv(input("x" + number, {1, channels, 6, 6}), weight({8, channels, 3, 3}), 1)}};
    const Graph odd{{conv(input("o" + number, {1, channels, 5, 5}), weight({8, channels, 3, 3}), 1)}};
    const Graph rows{{conv(input("r" + number, {1, channels, 12}), weight({8, channels, 3}), 1)}};
    const std::pair<const char*, const Graph*> cases[] = {
        {"winograd-convolution", &image}, {"winograd-convolution-of-odd-image", &odd}, {"winograd-convolution-of-rows", &rows}};
    for (const auto& [rule, graph] : cases) {
      const double error = float_error(apply(rule, *graph), *graph);
      EXPECT_LT(error, 6 * float_error(*graph, *graph)) << rule << " with " << channels << " channels";
      EXPECT_LT(error, 2e-6) << rule << " with " << channels << " channels";
    }
  }
}

}  // namespace
}  // namespace xflow::coverage
