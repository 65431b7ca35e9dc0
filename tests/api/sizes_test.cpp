#include "src/api/sizes.h"

#include <gtest/gtest.h>

#include "src/ops/operator.h"

namespace xflow::api {
namespace {

class FittingSizes : public ::testing::Test {
 protected:
  ir::ValueId input(std::string_view name, std::vector<ir::Poly> shape) {
    const auto serial = static_cast<std::uint32_t>(inputs_.size());
    const ir::ValueId value = arena_.input({ir::DataType::float32, true, std::move(shape)}, serial);
    inputs_.push_back({name, value});
    return value;
  }
  ir::Poly size(std::string_view name) { return arena_.symbols().named(ir::SymbolKind::dimension, name); }
  ir::ValueId op(std::string_view name, std::vector<ir::ValueId> operands, ir::Attributes attributes = {}) {
    const auto made = ops::apply(arena_, name, std::move(operands), std::move(attributes));
    EXPECT_TRUE(made) << (made ? "" : made.error().text());
    return *made;
  }
  ir::ValueId weight(std::vector<std::int64_t> dims) {
    std::int64_t count = 1;
    for (const std::int64_t d : dims) count *= d;
    const std::vector<double> ones(static_cast<std::size_t>(count), 1);
    return arena_.constant(*ir::make_constant(ir::DataType::float32, std::move(dims), ones));
  }
  Result<Sizes> choose(std::vector<ir::ValueId> outputs, const std::vector<InputShape>& given = {}) {
    return choose_fitting_sizes(arena_, ir::Graph{std::move(outputs)}, inputs_, given);
  }

  ir::Arena arena_;
  std::vector<NamedInput> inputs_;
};

TEST_F(FittingSizes, AreOneAnd128WhereTheGraphTakesThem) {
  const auto sizes = choose({op("relu", {input("x", {size("n"), size("m")})})});
  ASSERT_TRUE(sizes) << sizes.error().text();
  EXPECT_EQ(sizes->assumed, std::vector<std::string>{"x: [1, 128]"});
  EXPECT_EQ(sizes->refused, "");
}

TEST_F(FittingSizes, AreLongerWhereAWindowNeedsIt) {
  const auto sizes = choose({op("conv", {input("x", {size("n"), 1, size("samples")}), weight({1, 1, 400})})});
  ASSERT_TRUE(sizes) << sizes.error().text();
  EXPECT_EQ(sizes->assumed, std::vector<std::string>{"x: [1, 1, 512]"});
  EXPECT_EQ(sizes->refused.rfind("conv: expected", 0), 0U) << sizes->refused;
}

TEST_F(FittingSizes, OfAMaskAreThoseOfThePastAndThePresentTogether) {
  const ir::ValueId past = input("past", {1, size("past")});
  const ir::ValueId present = input("present", {1, size("present")});
  const ir::ValueId mask = input("mask", {1, size("total")});
  const auto sizes = choose({op("mul", {op("concat", {past, present}, {{"axis", ir::Poly(1)}}), mask})});
  ASSERT_TRUE(sizes) << sizes.error().text();
  EXPECT_EQ(sizes->assumed, (std::vector<std::string>{"past: [1, 128]", "present: [1, 128]", "mask: [1, 256]"}));
  EXPECT_EQ(sizes->refused, "");
}

TEST_F(FittingSizes, ThatAreGivenStay) {
  const ir::ValueId y = op("conv", {input("x", {size("n"), 1, size("samples")}), weight({1, 1, 400})});
  const auto given = choose({y}, {{"x", {2, 1, 500}}});
  ASSERT_TRUE(given) << given.error().text();
  EXPECT_TRUE(given->assumed.empty());
  const auto refused = choose({y}, {{"x", {2, 1, 300}}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(refused.error().text().rfind("the model does not take x: [2, 1, 300]: conv: expected", 0), 0U) << refused.error().text();
}

TEST_F(FittingSizes, AreAskedForWhereNoneThatIsTriedFits) {
  const ir::ValueId x = input("x", {size("n"), size("m")});
  const auto sizes = choose({op("add", {op("concat", {x, x}, {{"axis", ir::Poly(1)}}), weight({7})})});
  ASSERT_FALSE(sizes);
  EXPECT_EQ(sizes.error().code, ErrorCode::unsupported);
  EXPECT_EQ(
      sizes.error().text(),
      "the model does not take x: [1, 128], nor other sizes that were tried: add: expected dimensions that broadcast, found 256 and 7; "
      "give sizes with --shape");
}

}  // namespace
}  // namespace xflow::api
