#include "src/eval/evaluate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/eval/tensors.h"

namespace xflow::eval {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> naive_matmul(const Tensor& a, const Tensor& b) {
  const auto x = *doubles(a);
  const auto y = *doubles(b);
  const auto m = static_cast<std::size_t>(a.dims[0]);
  const auto inner = static_cast<std::size_t>(a.dims[1]);
  const auto n = static_cast<std::size_t>(b.dims[1]);
  std::vector<double> result(m * n, 0.0);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t k = 0; k < inner; ++k) result[i * n + j] += x[i * inner + k] * y[k * n + j];
    }
  }
  return result;
}

TEST(Evaluate, MatmulEqualsNaiveLoopsForAllProportions) {
  const std::vector<Dims> sizes = {{1, 1, 1}, {3, 5, 7}, {1, 300, 1}, {1, 300, 5}, {5, 300, 1}, {2, 3, 700}, {40, 33, 20}, {600, 2, 3}};
  for (const Dims& size : sizes) {
    const Tensor a = random_tensor({size[0], size[1]}, 1);
    const Tensor b = random_tensor({size[1], size[2]}, 2);
    EXPECT_EQ(values_of(run_operator("matmul", {a, b})), naive_matmul(a, b)) << size[0] << " " << size[1] << " " << size[2];
    Options single;
    single.number = Number::float32;
    EXPECT_EQ(values_of(run_operator("matmul", {a, b}, {}, single)), naive_matmul(a, b));
  }
}

struct Convolution {
  std::int64_t channels, outputs, groups, size, kernel, stride, pad, dilation;
};

std::vector<double> naive_convolution(const Convolution& c, const Tensor& input, const Tensor& weight, std::int64_t out) {
  const auto x = *doubles(input);
  const auto w = *doubles(weight);
  const std::int64_t per_group = c.channels / c.groups;
  std::vector<double> result;
  for (std::int64_t n = 0; n < 2; ++n) {
    for (std::int64_t o = 0; o < c.outputs; ++o) {
      for (std::int64_t i = 0; i < out; ++i) {
        for (std::int64_t j = 0; j < out; ++j) {
          double total = 0;
          for (std::int64_t ci = 0; ci < per_group; ++ci) {
            for (std::int64_t p = 0; p < c.kernel; ++p) {
              for (std::int64_t q = 0; q < c.kernel; ++q) {
                const std::int64_t row = i * c.stride + p * c.dilation - c.pad;
                const std::int64_t column = j * c.stride + q * c.dilation - c.pad;
                if (row < 0 || row >= c.size || column < 0 || column >= c.size) continue;
                const std::int64_t channel = o / (c.outputs / c.groups) * per_group + ci;
                total += x[static_cast<std::size_t>(((n * c.channels + channel) * c.size + row) * c.size + column)] *
                         w[static_cast<std::size_t>(((o * per_group + ci) * c.kernel + p) * c.kernel + q)];
              }
            }
          }
          result.push_back(total);
        }
      }
    }
  }
  return result;
}

TEST(Evaluate, ConvolutionEqualsNaiveLoops) {
  const std::vector<Convolution> cases = {{1, 1, 1, 5, 3, 1, 0, 1}, {4, 6, 1, 7, 3, 1, 1, 1},   {4, 6, 2, 7, 3, 2, 1, 1},
                                          {6, 6, 6, 9, 3, 1, 1, 2}, {3, 40, 1, 20, 1, 1, 0, 1}, {2, 3, 1, 6, 5, 3, 4, 1}};
  for (const Convolution& c : cases) {
    const Tensor x = random_tensor({2, c.channels, c.size, c.size}, 3);
    const Tensor w = random_tensor({c.outputs, c.channels / c.groups, c.kernel, c.kernel}, 4);
    const std::int64_t out = (c.size + 2 * c.pad - (c.kernel - 1) * c.dilation - 1) / c.stride + 1;
    const Dims pads(4, c.pad);
    const auto result = run_operator("conv", {x, w},
                                     attributes({{"strides", ir::polys(Dims(2, c.stride))},
                                                 {"pads", ir::polys(pads)},
                                                 {"dilations", ir::polys(Dims(2, c.dilation))},
                                                 {"groups", ir::Poly(c.groups)}}));
    EXPECT_EQ(values_of(result), naive_convolution(c, x, w, out)) << c.size << " " << c.kernel << " " << c.stride;
  }
}

Tensor as_rationals(const Tensor& tensor) {
  std::vector<ir::Rational> values;
  const auto numbers = doubles(tensor);
  for (const double value : *numbers) values.push_back(*ir::Rational::from_double(value));
  return Tensor::of_rationals(tensor.data_type, tensor.dims, values);
}

TEST(Evaluate, RationalsAgreeWithDoubleWhereDoubleIsExact) {
  Options exact;
  exact.number = Number::rational;
  const Tensor a = random_tensor({5, 9}, 1);
  const Tensor b = random_tensor({9, 4}, 2);
  EXPECT_EQ(values_of(run_operator("matmul", {as_rationals(a), as_rationals(b)}, {}, exact)), naive_matmul(a, b));
  // A constant of the file is taken exactly as well.
  EXPECT_EQ(values_of(run_operator("matmul", {a, as_rationals(b)}, {}, exact)), naive_matmul(a, b));
}

TEST(Evaluate, ThePrimeFieldAgreesWithRationalsModuloThePrime) {
  Options exact;
  exact.number = Number::rational;
  Options field;
  field.number = Number::prime;
  field.prime = 65521;
  const Tensor a = random_tensor({3, 4}, 5);
  std::vector<ir::Rational> divisors;
  for (int k = 0; k < 12; ++k) divisors.push_back(*ir::Rational::make(2 * k + 1, k + 2));
  const Tensor b = Tensor::of_rationals(ir::DataType::float32, {3, 4}, divisors);
  const auto rational = run_operator("div", {as_rationals(a), b}, {}, exact);
  const auto residues = run_operator("div", {as_rationals(a), b}, {}, field);
  ASSERT_TRUE(rational && residues);
  const auto expected = to_residues(*rational, field.prime);
  ASSERT_TRUE(expected);
  EXPECT_TRUE(equal(*residues, *expected));
}

TEST(Evaluate, ExactNumbersSayWhatTheyLack) {
  Options exact;
  exact.number = Number::rational;
  const auto result = run_operator("exp", {random_tensor({2}, 1)}, {}, exact);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::unsupported);
  EXPECT_EQ(result.error().message, "cannot evaluate exp over these numbers");
  Options field;
  field.number = Number::prime;
  EXPECT_EQ(run_operator("maximum", {random_tensor({2}, 1), random_tensor({2}, 2)}, {}, field).error().message,
            "cannot evaluate maximum over these numbers");
}

TEST(Evaluate, UninterpretedFunctionsAreFunctions) {
  Options exact;
  exact.number = Number::rational;
  exact.uninterpreted = true;
  const Tensor x = Tensor::of_doubles(ir::DataType::float32, {4}, {0.5, 0, 0.5, 2});
  const auto result = values_of(run_operator("exp", {x}, {}, exact));
  ASSERT_EQ(result.size(), 4U);
  EXPECT_EQ(result[0], result[2]);
  EXPECT_NE(result[0], result[3]);
  EXPECT_EQ(result[1], 1);
}

TEST(Evaluate, DivisionByZeroHasNoExactValue) {
  Options exact;
  exact.number = Number::rational;
  const Tensor one = Tensor::of_doubles(ir::DataType::float32, {1}, {1});
  const Tensor zero = Tensor::of_doubles(ir::DataType::float32, {1}, {0});
  const auto result = run_operator("div", {one, zero}, {}, exact);
  ASSERT_TRUE(result);
  EXPECT_EQ(element_text(*result, 0), "undefined");
  EXPECT_FALSE(equal(*result, *result));
}

TEST(Evaluate, FloatingPointFollowsTheStandard) {
  const Tensor x = Tensor::of_doubles(ir::DataType::float32, {4}, {NAN, -kInfinity, -1, 2});
  const auto relu = values_of(run_operator("relu", {x}));
  EXPECT_TRUE(std::isnan(relu[0]));
  EXPECT_EQ(relu[1], 0);
  const auto roots = values_of(run_operator("sqrt", {x}));
  EXPECT_TRUE(std::isnan(roots[2]));
  EXPECT_EQ(roots[3], std::sqrt(2.0));
  EXPECT_EQ(values_of(run_operator("exp", {x}))[1], 0);
}

TEST(Evaluate, FloatRoundsEveryOperation) {
  Options single;
  single.number = Number::float32;
  const Tensor a = Tensor::of_doubles(ir::DataType::float32, {1}, {16777216});
  const Tensor b = Tensor::of_doubles(ir::DataType::float32, {1}, {1});
  EXPECT_EQ(values_of(run_operator("add", {a, b}, {}, single))[0], 16777216);
  EXPECT_EQ(values_of(run_operator("add", {a, b}))[0], 16777217);
}

TEST(Evaluate, SoftmaxOfLargeNumbersIsFinite) {
  const Tensor x = Tensor::of_doubles(ir::DataType::float32, {2, 3}, {10000, 10001, 9000, -5000, -5000, -6000});
  const auto result = values_of(run_operator("softmax", {x}, attributes({{"axis", ir::Poly(1)}})));
  EXPECT_NEAR(result[0], 1 / (1 + std::exp(1)), 1e-12);
  EXPECT_NEAR(result[3], 0.5, 1e-12);
}

TEST(Evaluate, IntegersWrapToTheirType) {
  const Tensor a = Tensor::of_integers(ir::DataType::int8, {2}, {100, -128});
  EXPECT_EQ(values_of(run_operator("add", {a, a})), (std::vector<double>{-56, 0}));
  const Tensor big = Tensor::of_integers(ir::DataType::uint64, {1}, {-1});
  const Tensor two = Tensor::of_integers(ir::DataType::uint64, {1}, {2});
  EXPECT_EQ(values_of(run_operator("div", {big, two}))[0], 9223372036854775807.0);
  EXPECT_EQ(values_of(run_operator("less", {two, big}))[0], 1);
}

TEST(Evaluate, MovesStrings) {
  const Tensor a = Tensor::of_strings({2}, {"x", "long enough for the heap"});
  const Tensor b = Tensor::of_strings({1}, {"x"});
  EXPECT_TRUE(
      equal(*run_operator("concat", {a, b}, {{"axis", ir::Poly(0)}}), Tensor::of_strings({3}, {"x", "long enough for the heap", "x"})));
  EXPECT_TRUE(equal(*run_operator("expand", {b}, {{"shape", std::vector<ir::Poly>{3}}}), Tensor::of_strings({3}, {"x", "x", "x"})));
}

TEST(Evaluate, EmptyTensorsHaveNoElements) {
  const auto result = run_operator("matmul", {random_tensor({0, 3}, 1), random_tensor({3, 2}, 1)});
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->dims, (Dims{0, 2}));
  // A sum over nothing is zero.
  EXPECT_EQ(values_of(run_operator("matmul", {random_tensor({2, 0}, 1), random_tensor({0, 1}, 1)})), (std::vector<double>{0, 0}));
}

TEST(Evaluate, DimensionsGetTheirSizesFromInputs) {
  ir::Arena arena;
  const ir::Poly n(arena.symbols().named(ir::SymbolKind::dimension, "N"));
  const ir::ValueId x = arena.input({ir::DataType::float32, true, {n, 3}}, 0);
  const ir::ValueId y = *ops::apply(arena, "neg", {x});
  const auto result = evaluate(arena, ir::Graph{{y, x}}, {{x, random_tensor({5, 3}, 1)}});
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ((*result)[0].dims, (Dims{5, 3}));
  const auto wrong = evaluate(arena, ir::Graph{{y}}, {{x, random_tensor({5, 4}, 1)}});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().text(), "a tensor of shape [5,4] was given, float32[N, 3] was expected");
}

TEST(Evaluate, NamesTheOpaqueNodeThatItCannotExecute) {
  ir::Arena arena;
  const ir::ValueId x = arena.input(float_type({2}), 0);
  const ir::ValueId opaque{arena.opaque(7, {x}, {float_type({2})}), 0};
  const ir::ValueId y = *ops::apply(arena, "neg", {opaque});
  Options options;
  options.name_of = [](const ir::Node& node) { return "If at branch" + std::to_string(node.serial); };
  const auto result = evaluate(arena, ir::Graph{{y}}, {{x, random_tensor({2}, 1)}}, options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().text(), "cannot execute: If at branch7");
  // A value that is given needs nothing of what computes it.
  EXPECT_TRUE(evaluate(arena, ir::Graph{{y}}, {{opaque, random_tensor({2}, 1)}}, options));
}

TEST(Evaluate, IsTheSameInEveryBlockOfLanes) {
  // Rows that are longer and shorter than a block, and blocks that end inside rows.
  for (const Dims& dims : std::vector<Dims>{{3, 1000}, {700, 3}, {5, 7, 11, 13}, {513}, {2, 511}}) {
    const Tensor x = random_tensor(dims, 6);
    auto expected = *doubles(x);
    for (double& value : expected) value = -value;
    EXPECT_EQ(values_of(run_operator("neg", {x})), expected);
  }
}

TEST(Fold, RoundsOnceToTheType) {
  ir::Arena arena;
  const std::vector<double> third = {1.0 / 3};
  const ir::ValueId a = arena.constant(*ir::make_constant(ir::DataType::float32, {1}, third));
  const ir::ValueId b = *ops::apply(arena, "mul", {a, a});
  const ir::ValueId c = *ops::apply(arena, "mul", {b, a});
  const auto folded = fold(arena, c);
  ASSERT_TRUE(folded) << folded.error().text();
  const double x = static_cast<float>(1.0 / 3);
  EXPECT_EQ((*ir::doubles(*folded))[0], static_cast<float>(x * x * x));
}

TEST(Fold, OfAChainEqualsItsStepsInEveryTile) {
  // More than a tile: concat(transpose(w) * s, v) * s, with values that are exact in float.
  constexpr std::int64_t kRows = 1500;
  constexpr std::int64_t kColumns = 900;
  ir::Arena arena;
  const auto constant = [&](const Dims& dims, std::uint32_t seed) {
    const auto values = doubles(random_tensor(dims, seed));
    return arena.constant(*ir::make_constant(ir::DataType::float32, dims, *values));
  };
  const ir::ValueId w = constant({kColumns, kRows}, 1);
  const ir::ValueId s = constant({kColumns}, 2);
  const ir::ValueId v = constant({3, kColumns}, 3);
  const ir::ValueId turned = *ops::apply(arena, "transpose", {w}, attributes({{"perm", ir::polys(Dims{1, 0})}}));
  const ir::ValueId scaled = *ops::apply(arena, "mul", {turned, s});
  const ir::ValueId joined = *ops::apply(arena, "concat", {scaled, v}, attributes({{"axis", ir::Poly(0)}}));
  const ir::ValueId result = *ops::apply(arena, "mul", {joined, s});
  const auto folded = fold(arena, result);
  ASSERT_TRUE(folded) << folded.error().text();
  const auto steps = evaluate(arena, ir::Graph{{result}}, {});
  ASSERT_TRUE(steps) << steps.error().text();
  EXPECT_TRUE(equal(Tensor::of(*folded), (*steps)[0]));
}

TEST(Fold, TakesRowsByConstantIndices) {
  ir::Arena arena;
  const ir::ValueId table = arena.constant(*ir::make_constant(ir::DataType::float32, {3, 2}, std::vector<double>{1, 2, 3, 4, 5, 6}));
  const ir::ValueId rows = arena.constant(ir::make_integer_constant(ir::DataType::int64, {2}, std::vector<std::int64_t>{2, -3}));
  const ir::ValueId taken = *ops::apply(arena, "gather", {table, rows}, attributes({{"axis", ir::Poly(0)}}));
  const ir::ValueId result = *ops::apply(arena, "neg", {taken});
  for (const auto& [value, expected] :
       {std::pair(taken, std::vector<double>{5, 6, 1, 2}), std::pair(result, std::vector<double>{-5, -6, -1, -2})}) {
    const auto folded = fold(arena, value);
    ASSERT_TRUE(folded) << folded.error().text();
    EXPECT_EQ(*ir::doubles(*folded), expected);
  }
}

}  // namespace
}  // namespace xflow::eval
