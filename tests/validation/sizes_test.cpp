#include "src/validation/sizes.h"

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
  EXPECT_EQ(sizes->defaults_fit, accepted());
}

TEST_F(FittingSizes, AreLongerWhereAWindowNeedsIt) {
  const auto sizes = choose({op("conv", {input("x", {size("n"), 1, size("samples")}), weight({1, 1, 400})})});
  ASSERT_TRUE(sizes) << sizes.error().text();
  EXPECT_EQ(sizes->assumed, std::vector<std::string>{"x: [1, 1, 512]"});
  EXPECT_FALSE(sizes->defaults_fit);
  EXPECT_EQ(sizes->defaults_fit.reason.rfind("conv: expected", 0), 0U) << sizes->defaults_fit.reason;
}

TEST_F(FittingSizes, OfAMaskAreThoseOfThePastAndThePresentTogether) {
  const ir::ValueId past = input("past", {1, size("past")});
  const ir::ValueId present = input("present", {1, size("present")});
  const ir::ValueId mask = input("mask", {1, size("total")});
  const auto sizes = choose({op("mul", {op("concat", {past, present}, {{"axis", ir::Poly(1)}}), mask})});
  ASSERT_TRUE(sizes) << sizes.error().text();
  EXPECT_EQ(sizes->assumed, (std::vector<std::string>{"past: [1, 128]", "present: [1, 128]", "mask: [1, 256]"}));
  EXPECT_EQ(sizes->defaults_fit, accepted());
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
  EXPECT_EQ(sizes.error().text(),
            "the model does not take x: [1, 128] or the other sizes that were tried: add: expected dimensions that broadcast, found 256 "
            "and 7; give sizes with option 'shapes'");
}

// Results of opaque nodes, whose sizes no input shows.
class InnerSizesOfAGraph : public FittingSizes {
 protected:
  ir::ValueId opaque(std::vector<ir::Poly> shape) {
    return {arena_.opaque(serial_++, {}, {ir::TensorType{ir::DataType::float32, true, std::move(shape)}}), 0};
  }
  ir::Poly fresh() { return ir::Poly(arena_.symbols().fresh(ir::SymbolKind::dimension, "r")); }
  std::optional<std::int64_t> value(const Sizes& sizes, ir::ValueId of, std::size_t dim) {
    return arena_.symbols().evaluate(arena_.type(of).shape[dim], sizes.valuation());
  }
  Sizes choose(std::vector<ir::ValueId> outputs, SizeMap inferred = {}) {
    InnerSizes inner;
    inner.infer = [inferred = std::move(inferred)](const SizeMap&) { return inferred; };
    inner.name_of = [](ir::ValueId) { return std::string("r of node 'nms'"); };
    auto sizes = choose_fitting_sizes(arena_, ir::Graph{std::move(outputs)}, inputs_, {}, inner);
    EXPECT_TRUE(sizes) << (sizes ? "" : sizes.error().text());
    return *std::move(sizes);
  }

 private:
  std::uint32_t serial_ = 0;
};

TEST_F(InnerSizesOfAGraph, AreInferred) {
  const ir::Poly dim = fresh();
  const ir::ValueId r = opaque({dim});
  const Sizes sizes = choose({op("relu", {r})}, {{*dim.as_symbol(), 24}});
  EXPECT_EQ(value(sizes, r, 0), 24);
  EXPECT_TRUE(sizes.assumed_inner.empty());
}

TEST_F(InnerSizesOfAGraph, AreWhatTheirReadersDemand) {
  const ir::ValueId r = opaque({fresh(), fresh()});
  const ir::ValueId other = opaque({fresh(), fresh()});
  const ir::ValueId sum = op("concat", {r, input("x", {8, 4})}, {{"axis", ir::Poly(1)}});
  const Sizes sizes = choose({op("concat", {op("add", {r, other}), sum}, {{"axis", ir::Poly(1)}})});
  EXPECT_EQ(value(sizes, r, 0), 8);
  EXPECT_EQ(value(sizes, other, 0), 8);
  EXPECT_EQ(value(sizes, r, 1), 128);
  EXPECT_EQ(sizes.inner_fit, accepted());
}

TEST_F(InnerSizesOfAGraph, AreAssumedAndReportedWhereNothingElseIsKnown) {
  const ir::ValueId r = opaque({fresh(), 3});
  const Sizes sizes = choose({op("relu", {r})});
  EXPECT_EQ(sizes.assumed_inner, std::vector<std::string>{"r of node 'nms': [128, 3]"});
}

TEST_F(InnerSizesOfAGraph, AreAssumedSmallerWhereTheValueWouldBeLarge) {
  const ir::ValueId r = opaque({fresh(), fresh(), fresh(), fresh()});
  const Sizes sizes = choose({op("relu", {r})});
  EXPECT_EQ(sizes.assumed_inner, std::vector<std::string>{"r of node 'nms': [32, 32, 32, 32]"});
}

TEST_F(InnerSizesOfAGraph, ThatContradictEachOtherAreNoError) {
  const ir::Poly dim = fresh();
  const ir::ValueId sum = op("concat", {opaque({dim, 4}), input("x", {8, 4})}, {{"axis", ir::Poly(1)}});
  const Sizes sizes = choose({sum}, {{*dim.as_symbol(), 16}});
  EXPECT_FALSE(sizes.inner_fit);
  EXPECT_EQ(sizes.inner_fit.reason.rfind("concat: expected ", 0), 0U) << sizes.inner_fit.reason;
}

}  // namespace
}  // namespace xflow::api
