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

}  // namespace
}  // namespace xflow::generator
