#include "src/generator/rules/gain.h"

#include <gtest/gtest.h>

#include "tests/generator/small_graphs.h"

namespace xflow::generator {
namespace {

GraphSignature matrices() { return GraphSignature::make({TensorKind::matrix, {"add", "matmul", "mul", "relu", "transpose"}, 4}).value(); }

TEST(Gain, OfAssociativityIsOnBothSides) {
  const GraphSignature u = matrices();
  const auto n = static_cast<std::uint8_t>(u.leaves().size());
  const auto next = static_cast<std::uint8_t>(n + 1);
  const ChoiceId m = choice(u, "matmul");
  const Gain gain = gain_of(u, {{{{m, {0, 1}}, {m, {n, 2}}}, {next}}, {{{m, {1, 2}}, {m, {0, n}}}, {next}}});
  EXPECT_TRUE(gain.forwards);
  EXPECT_TRUE(gain.backwards);
}

TEST(Gain, OfOneOperationLessIsOnOneSide) {
  const GraphSignature u = matrices();
  const auto n = static_cast<std::uint8_t>(u.leaves().size());
  const auto next = static_cast<std::uint8_t>(n + 1);
  const ChoiceId relu = choice(u, "relu");
  const Gain gain = gain_of(u, {{{{relu, {0}}, {relu, {n}}}, {next}}, {{{relu, {0}}}, {n}}});
  EXPECT_TRUE(gain.forwards);
  EXPECT_FALSE(gain.backwards);
}

TEST(Gain, OfAnotherOrderIsOnNoSide) {
  const GraphSignature u = matrices();
  const auto n = static_cast<std::uint8_t>(u.leaves().size());
  const auto next = static_cast<std::uint8_t>(n + 1);
  const ChoiceId relu = choice(u, "relu");
  const ChoiceId transpose = choice(u, "transpose");
  const Gain gain = gain_of(u, {{{{relu, {0}}, {transpose, {n}}}, {next}}, {{{transpose, {0}}, {relu, {n}}}, {next}}});
  EXPECT_FALSE(gain.forwards);
  EXPECT_FALSE(gain.backwards);
}

// (x + s) + t = x + (s + t)
TEST(Gain, OfAssociativeSumsNeedsConstants) {
  const GraphSignature u = matrices();
  const auto n = static_cast<std::uint8_t>(u.leaves().size());
  const auto next = static_cast<std::uint8_t>(n + 1);
  const ChoiceId add = choice(u, "add");
  const RuleCandidate c = {{{{add, {0, 1}}, {add, {2, n}}}, {next}}, {{{add, {1, 2}}, {add, {0, n}}}, {next}}};
  EXPECT_FALSE(gain_of(u, c).forwards);
  // The inputs in the order in which the source reads them: x2, x0, x1.
  EXPECT_EQ(constants_that_pay(u, c), (std::vector<std::size_t>{0, 2}));
  EXPECT_TRUE(parameters_that_pay(u, c).empty());  // no input is a row
}

// relu(x) relu(z) has no operation that constants would save.
TEST(Gain, IsNotWhereNothingIsFolded) {
  const GraphSignature u = matrices();
  const auto n = static_cast<std::uint8_t>(u.leaves().size());
  const auto next = static_cast<std::uint8_t>(n + 1);
  const ChoiceId relu = choice(u, "relu");
  const RuleCandidate c = {{{{relu, {0}}, {relu, {n}}}, {next}}, {{{relu, {0}}}, {n}}};
  EXPECT_TRUE(constants_that_pay(u, c).empty());
  EXPECT_FALSE(with_constants(rules::Rule{}, {}).has_value());
}

// conv(x s, w) = conv(x, s w): the kernel and the channels are parameters, the image is not.
TEST(Gain, OfParametersCostsNoMoreForAnySize) {
  const GraphSignature u = GraphSignature::make({TensorKind::image, {"add", "channels", "conv", "mul"}, 1}).value();
  const auto leaf = [&](std::string_view type) {
    for (std::size_t k = 0; k < u.leaves().size(); ++k)
      if (u.to_string(u.leaves()[k].type) == type) return static_cast<std::uint8_t>(k);
    ADD_FAILURE() << "no " << type;
    return std::uint8_t{0};
  };
  const std::uint8_t x = leaf("[n, c, h, w]");
  const std::uint8_t s = leaf("[1, c, 1, 1]");
  const std::uint8_t w = leaf("[c, c, 1, 1]");
  const auto n = static_cast<std::uint8_t>(u.leaves().size());
  const auto next = static_cast<std::uint8_t>(n + 1);
  const auto last = static_cast<std::uint8_t>(n + 2);
  const ChoiceId add = choice(u, "add");
  const ChoiceId mul = choice(u, "mul");
  const ChoiceId conv = choice(u, "conv 1x1");
  const RuleCandidate shifted = {{{{add, {x, s}}, {conv, {n, w}}}, {next}}, {{{conv, {x, w}}, {conv, {s, w}}, {add, {n, next}}}, {last}}};
  // Two operations are left on both sides, and the sum may have more channels after the convolution.
  EXPECT_TRUE(constants_that_pay(u, shifted).empty());
  EXPECT_TRUE(parameters_that_pay(u, shifted).empty());
  const RuleCandidate scaled = {{{{mul, {x, s}}, {conv, {n, w}}}, {next}}, {{{mul, {s, w}}, {conv, {x, n}}}, {next}}};
  EXPECT_EQ(parameters_that_pay(u, scaled), (std::vector<std::size_t>{1, 2}));
  rules::Rule rule;
  rule.name = "r";
  const auto guarded = with_constants(rule, parameters_that_pay(u, scaled));
  ASSERT_TRUE(guarded.has_value());
  EXPECT_EQ(guarded->name, "r-folded");
  EXPECT_EQ(rules::print(*guarded), "rule r-folded\n  source\n  target\n  where\n    const(z) and\n    const(u)\n");
}

// clip(x + 3) / 6 = hard_sigmoid(x)
TEST(Gain, OfFunctionsNeedsNoConstants) {
  const GraphSignature u = GraphSignature::make({TensorKind::matrix, {"add", "clip", "div", "hard_sigmoid", "six", "three"}, 2}).value();
  const auto n = static_cast<std::uint8_t>(u.leaves().size());
  const auto next = [&](int k) { return static_cast<std::uint8_t>(n + k); };
  const SmallGraph steps{{{choice(u, "add"), {0, number(u, 3)}}, {choice(u, "clip"), {n}}, {choice(u, "div"), {next(1), number(u, 6)}}},
                         {next(2)}};
  const SmallGraph function{{{choice(u, "hard_sigmoid"), {0}}}, {n}};
  EXPECT_TRUE(always_pays(u, {steps, function}));
  EXPECT_FALSE(always_pays(u, {function, steps}));
  EXPECT_TRUE(loses_numbers(u, {steps, function}));
  // One operation less, and a number that stays.
  const SmallGraph shorter{{{choice(u, "add"), {0, number(u, 3)}}, {choice(u, "clip"), {n}}}, {next(1)}};
  EXPECT_TRUE(always_pays(u, {steps, shorter}));
  EXPECT_FALSE(loses_numbers(u, {steps, shorter}));
  EXPECT_TRUE(reads_numbers(u, steps));
  EXPECT_FALSE(reads_numbers(u, function));
}

}  // namespace
}  // namespace xflow::generator
