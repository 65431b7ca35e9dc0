#include "src/validation/check_inputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "src/ir/type.h"

namespace xflow::api {
namespace {

// Inputs "x" and "n" of the given types; sizes that are open are 4.
class SeededInputs : public ::testing::Test {
 protected:
  void add(std::string_view name, ir::TensorType type) {
    inputs_.push_back({name, arena_.input(std::move(type), static_cast<std::uint32_t>(inputs_.size()))});
  }
  void add(std::string_view name, ir::DataType type) { add(name, ir::TensorType{type, true, {ir::Poly(2), ir::Poly(50)}}); }

  InputSet drawn(const SeededValues& values) {
    const auto sizes = choose_sizes(arena_, inputs_, {}, OpenSizes::of(4, 4));
    EXPECT_TRUE(sizes) << sizes.error().text();
    auto set = seeded_inputs(arena_, inputs_, *sizes, values);
    EXPECT_TRUE(set) << set.error().text();
    return set ? *std::move(set) : InputSet{};
  }

  ir::Arena arena_;
  std::vector<NamedInput> inputs_;
};

TEST(Perturbed, ChangesFloatingElementsByAFewUnitsInTheLastPlace) {
  const eval::Tensor x = eval::Tensor::of_doubles(ir::DataType::float32, {4}, {1, -2, 0, 3});
  const auto changed = eval::doubles(perturbed(x, 1).value()).value();
  const std::vector<double> values = {1, -2, 0, 3};
  for (std::size_t k = 0; k < values.size(); ++k) {
    EXPECT_EQ(changed[k] == values[k], values[k] == 0) << k;
    EXPECT_LE(std::fabs(changed[k] - values[k]), std::ldexp(std::fabs(values[k]), -19)) << k;
    EXPECT_EQ(changed[k], static_cast<float>(changed[k])) << k;
  }
  const eval::Tensor half = eval::Tensor::of_doubles(ir::DataType::float16, {1}, {1});
  const double other = eval::doubles(perturbed(half, 1).value()).value()[0];
  EXPECT_EQ(std::fabs(other - 1), std::ldexp(1, -7));
  const eval::Tensor places = eval::Tensor::of_integers(ir::DataType::int64, {2}, {3, 4});
  EXPECT_EQ(eval::integers(perturbed(places, 1).value()).value(), (std::vector<std::int64_t>{3, 4}));
}

TEST_F(SeededInputs, AreTheSameForTheSameSeed) {
  add("x", ir::DataType::float32);
  add("n", ir::DataType::int64);
  const InputSet a = drawn({7, 10});
  const InputSet b = drawn({7, 10});
  const InputSet other = drawn({8, 10});
  EXPECT_TRUE(eval::equal(a.tensors.at("x"), b.tensors.at("x")));
  EXPECT_TRUE(eval::equal(a.tensors.at("n"), b.tensors.at("n")));
  EXPECT_FALSE(eval::equal(a.tensors.at("x"), other.tensors.at("x")));
}

// Reports quote seeds, so a seed means the same numbers in every build.
TEST_F(SeededInputs, AreTheSameInEveryBuild) {
  add("x", ir::DataType::float32);
  const auto values = eval::doubles(drawn({1, 2}).tensors.at("x"));
  ASSERT_TRUE(values);
  EXPECT_EQ((*values)[0], static_cast<double>(static_cast<float>(static_cast<double>(2469588189546311528ULL >> 11) * 0x1p-52 - 1.0)));
}

TEST_F(SeededInputs, AreWithinTheirBounds) {
  add("x", ir::DataType::float32);
  add("n", ir::DataType::int32);
  add("b", ir::DataType::boolean);
  const InputSet set = drawn({3, 10});
  const auto x = eval::doubles(set.tensors.at("x"));
  const auto n = eval::integers(set.tensors.at("n"));
  const auto b = eval::integers(set.tensors.at("b"));
  ASSERT_TRUE(x && n && b);
  EXPECT_TRUE(std::all_of(x->begin(), x->end(), [](double v) { return v >= -1 && v < 1; }));
  EXPECT_EQ(*std::min_element(n->begin(), n->end()), 0);
  EXPECT_EQ(*std::max_element(n->begin(), n->end()), 9);
  EXPECT_EQ(*std::max_element(b->begin(), b->end()), 1);
}

TEST_F(SeededInputs, AreNumbersOfTheirType) {
  add("x", ir::DataType::float16);
  const auto values = eval::doubles(drawn({1, 2}).tensors.at("x"));
  ASSERT_TRUE(values);
  for (const double v : *values) EXPECT_EQ(v, static_cast<double>(ir::half_to_float(ir::float_to_half(static_cast<float>(v)))));
}

TEST_F(SeededInputs, TakeOpenSizesAsChosen) {
  add("x",
      ir::TensorType{ir::DataType::float32, true, {ir::Poly(arena_.symbols().named(ir::SymbolKind::dimension, "batch")), ir::Poly(3)}});
  EXPECT_EQ(drawn({5, 2}).label, "x: float32[4,3], seed 5");
}

TEST_F(SeededInputs, OfUnknownRankAreAnError) {
  add("x", ir::TensorType::unranked(ir::DataType::float32));
  const auto set = seeded_inputs(arena_, inputs_, Sizes{}, {});
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, ErrorCode::unsupported);
  EXPECT_EQ(set.error().text(), "input 'x': cannot choose sizes for an unknown rank; give its values in an input file");
}

}  // namespace
}  // namespace xflow::api
