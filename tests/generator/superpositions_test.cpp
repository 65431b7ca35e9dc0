#include "src/generator/rules/superpositions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/generator/small_graphs.h"

namespace xflow::generator {
namespace {

class Superpositions : public testing::Test {
 protected:
  SmallGraph graph(std::vector<SmallGraphNode> nodes) const {
    const auto last = static_cast<std::uint8_t>(signature_.leaves().size() + nodes.size() - 1);
    return {std::move(nodes), {last}};
  }
  // The output of operation k.
  std::uint8_t value(std::size_t k) const { return static_cast<std::uint8_t>(signature_.leaves().size() + k); }
  // Input k of a group.
  std::uint8_t input(std::size_t group, std::size_t k) const { return static_cast<std::uint8_t>(signature_.group_begins()[group] + k); }
  std::vector<std::string> found(const std::vector<RuleCandidate>& moves, const std::vector<RuleCandidate>& gains) const {
    std::vector<std::string> texts;
    for (const RuleCandidate& c : superpositions(signature_, wide_, moves, gains))
      texts.push_back(to_string(wide_, c.source) + " = " + to_string(wide_, c.target));
    return texts;
  }

  SignatureOptions options_{TensorKind::image, {"add", "channels", "conv", "mul", "relu"}, 2};
  GraphSignature signature_ = GraphSignature::make(options_).value();
  GraphSignature wide_ = wider_signature(options_).value();
  ChoiceId add_ = choice(signature_, "add");
  ChoiceId relu_ = choice(signature_, "relu");
  ChoiceId conv_ = choice(signature_, "conv 3x3");
  static constexpr std::size_t kImages = 0;
  static constexpr std::size_t kChannels = 1;
  static constexpr std::size_t kKernels = 2;

  // (x + a) + (z + b) = (x + z) + (a + b)
  RuleCandidate shifts_together() const {
    return {graph({{add_, {input(kImages, 0), input(kChannels, 0)}},
                   {add_, {input(kImages, 1), input(kChannels, 1)}},
                   {add_, {value(0), value(1)}}}),
            graph({{add_, {input(kImages, 0), input(kImages, 1)}},
                   {add_, {input(kChannels, 0), input(kChannels, 1)}},
                   {add_, {value(0), value(1)}}})};
  }
  // conv(x, v) + conv(x, w) = conv(x, v + w)
  RuleCandidate kernels_together() const {
    return {graph({{conv_, {input(kImages, 0), input(kKernels, 0)}},
                   {conv_, {input(kImages, 0), input(kKernels, 1)}},
                   {add_, {value(0), value(1)}}}),
            graph({{add_, {input(kKernels, 0), input(kKernels, 1)}}, {conv_, {input(kImages, 0), value(0)}}})};
  }
};

TEST_F(Superpositions, BringTogetherWhatIsThenMerged) {
  const std::vector<std::string> texts = found({shifts_together()}, {kernels_together()});
  ASSERT_EQ(texts.size(), 1U);
  EXPECT_EQ(texts[0], "add(add(b0, conv 3x3(a0, c0)), add(b1, conv 3x3(a0, c1))) = add(add(b0, b1), conv 3x3(a0, add(c0, c1)))");
}

// A relu over both sides adds nothing.
TEST_F(Superpositions, HaveNoContext) {
  RuleCandidate move = shifts_together();
  for (SmallGraph* side : {&move.source, &move.target}) {
    side->nodes.push_back({relu_, {value(2)}});
    side->outputs = {value(3)};
  }
  EXPECT_TRUE(found({move}, {kernels_together()}).empty());
}

// (x + z) + a = (x + a) + z from right to left: the sum of two convolutions is there before.
TEST_F(Superpositions, LeaveOutGainsThatNeedNoMove) {
  const RuleCandidate move{graph({{add_, {input(kImages, 0), input(kImages, 1)}}, {add_, {input(kChannels, 0), value(0)}}}),
                           graph({{add_, {input(kImages, 0), input(kChannels, 0)}}, {add_, {input(kImages, 1), value(0)}}})};
  EXPECT_TRUE(found({move}, {kernels_together()}).empty());
  const RuleCandidate back{move.target, move.source};
  EXPECT_EQ(found({back}, {kernels_together()}),
            (std::vector<std::string>{"add(conv 3x3(a0, c0), add(b0, conv 3x3(a0, c1))) = add(b0, conv 3x3(a0, add(c0, c1)))"}));
}

// Of each two graphs that are equal to a third one, in both directions.
TEST_F(Superpositions, TakeMovesBetweenAllGraphsOfAClass) {
  const SmallGraph left = graph({{add_, {input(kImages, 0), input(kImages, 1)}}, {add_, {input(kChannels, 0), value(0)}}});
  const SmallGraph middle = graph({{add_, {input(kImages, 0), input(kChannels, 0)}}, {add_, {input(kImages, 1), value(0)}}});
  const SmallGraph right = graph({{add_, {input(kImages, 1), input(kChannels, 0)}}, {add_, {input(kImages, 0), value(0)}}});
  const std::vector<RuleCandidate> candidates = {{left, middle}, {right, middle}};
  EXPECT_EQ(moves_of(signature_, candidates).size(), 6U);
}

TEST_F(Superpositions, AreMadeOfMovesAndGains) {
  EXPECT_TRUE(is_move(signature_, shifts_together()));
  EXPECT_FALSE(is_move(signature_, kernels_together()));
  EXPECT_TRUE(is_gain(signature_, kernels_together()));
  EXPECT_FALSE(is_gain(signature_, {kernels_together().target, kernels_together().source}));
  EXPECT_FALSE(is_gain(signature_, shifts_together()));
  // Images alone; x + x is read twice.
  const RuleCandidate images{graph({{add_, {input(kImages, 0), input(kImages, 1)}}, {relu_, {value(0)}}}),
                             graph({{relu_, {input(kImages, 0)}}, {add_, {input(kImages, 1), value(0)}}})};
  EXPECT_FALSE(is_move(signature_, images));
  const RuleCandidate doubled{graph({{add_, {input(kImages, 0), input(kImages, 0)}}, {add_, {input(kChannels, 0), value(0)}}}),
                              graph({{relu_, {input(kImages, 0)}}})};
  EXPECT_FALSE(is_move(signature_, doubled));
}

// (x z) / 6 = x (z / 6) and clip(z + 3) / 6 = hard_sigmoid(z)
TEST(SuperpositionsOfFunctions, FindThemInsideOfOthers) {
  const SignatureOptions options{TensorKind::matrix, {"add", "clip", "div", "hard_sigmoid", "mul", "six", "three"}, 2};
  const GraphSignature u = GraphSignature::make(options).value();
  const GraphSignature wide = wider_signature(options).value();
  const auto n = static_cast<std::uint8_t>(u.leaves().size());
  const auto next = [&](int k) { return static_cast<std::uint8_t>(n + k); };
  const ChoiceId mul = choice(u, "mul");
  const ChoiceId div = choice(u, "div");
  const RuleCandidate move{{{{mul, {0, 1}}, {div, {n, number(u, 6)}}}, {next(1)}}, {{{div, {1, number(u, 6)}}, {mul, {0, n}}}, {next(1)}}};
  const RuleCandidate gain{{{{choice(u, "add"), {0, number(u, 3)}}, {choice(u, "clip"), {n}}, {div, {next(1), number(u, 6)}}}, {next(2)}},
                           {{{choice(u, "hard_sigmoid"), {0}}}, {n}}};
  ASSERT_TRUE(is_move(u, move));
  ASSERT_TRUE(is_gain(u, gain));
  const std::vector<RuleCandidate> found = superpositions(u, wide, std::span(&move, 1), std::span(&gain, 1));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(to_string(wide, found[0].source), "div(mul(a0, clip(add(a1, 3))), 6)");
  EXPECT_EQ(to_string(wide, found[0].target), "mul(a0, hard_sigmoid(a1))");
}

}  // namespace
}  // namespace xflow::generator
