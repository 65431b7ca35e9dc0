// Proofs of which an equation of constants is left.
#include "src/equivalence/constant_rest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <unordered_set>
#include <vector>

#include "src/equivalence/part.h"
#include "src/ops/operator.h"

namespace xflow::equivalence {
namespace {

using ir::Poly;
using ir::ValueId;

class ConstantRest : public testing::Test {
 protected:
  ValueId input(ir::Shape shape) { return arena_.input({ir::DataType::float32, true, std::move(shape)}, inputs_++); }

  ValueId constant(std::vector<std::int64_t> dims, const std::vector<double>& values, ir::DataType type = ir::DataType::float32) {
    const auto made = ir::make_constant(type, std::move(dims), values);
    EXPECT_TRUE(made) << made.error().text();
    return *constants_.folded(arena_.constant(*made));
  }

  ValueId apply(const char* op, std::vector<ValueId> operands, ir::Attributes attributes = {}) {
    const auto made = ops::apply(arena_, op, std::move(operands), std::move(attributes));
    EXPECT_TRUE(made) << made.error().text();
    return *made;
  }

  // The proof that `b` is `a`, which is a value of the first model with all operations in `known`.
  PartDecision prove(ValueId a, ValueId b) {
    std::unordered_set<ir::NodeId> known;
    for (const ir::NodeId id : ir::topological_order(arena_, ir::Graph{{a}})) known.insert(id);
    PartProver prover(arena_, known, constants_);
    return prover.prove(a, b, verifier::Deadline());
  }

  std::vector<double> random(std::size_t count) {
    std::vector<double> values(count);
    for (double& value : values) value = std::uniform_real_distribution<float>(-1, 1)(generator_);
    return values;
  }

  ir::Arena arena_;
  eval::Options options_;
  Constants constants_{arena_, options_};
  std::mt19937 generator_{7};
  std::uint32_t inputs_ = 0;
};

constexpr std::int64_t kRows = 5;
constexpr std::int64_t kColumns = 4;

// (x + shift) weights, and x weights + shift weights, whose product was computed in float.
struct Shifted {
  std::vector<double> shift;
  std::vector<double> weights;
  std::vector<double> product = std::vector<double>(kColumns);
};

class ShiftedProduct : public ConstantRest {
 protected:
  ShiftedProduct() {
    n_ = Poly(arena_.symbols().named(ir::SymbolKind::dimension, "n"));
    shifted_.shift = random(kRows);
    shifted_.weights = random(kRows * kColumns);
    for (std::int64_t j = 0; j < kColumns; ++j) {
      float sum = 0;
      for (std::int64_t m = kRows; m-- > 0;)
        sum += static_cast<float>(shifted_.shift[static_cast<std::size_t>(m)]) *
               static_cast<float>(shifted_.weights[static_cast<std::size_t>(m * kColumns + j)]);
      shifted_.product[static_cast<std::size_t>(j)] = sum;
    }
  }

  PartDecision decide(const Shifted& b) {
    const ValueId x = input({n_, Poly(kRows)});
    const ValueId w = constant({kRows, kColumns}, shifted_.weights);
    const ValueId first = apply("matmul", {apply("add", {x, constant({kRows}, shifted_.shift)}), w});
    const ValueId second = apply("add", {apply("matmul", {x, constant({kRows, kColumns}, b.weights)}), constant({kColumns}, b.product)});
    return prove(first, second);
  }

  Poly n_;
  Shifted shifted_;
};

TEST_F(ShiftedProduct, IsProvedUpToRounding) {
  const PartDecision decision = decide(shifted_);
  EXPECT_EQ(decision.verdict, Verdict::proved) << decision.open;
  ASSERT_TRUE(decision.rounding);
  EXPECT_LE(decision.rounding->difference, decision.rounding->allowed);
  EXPECT_LT(decision.rounding->allowed, 1e-5);
}

TEST_F(ShiftedProduct, IsNotProvedIfAnElementIsAnother) {
  for (std::size_t j = 0; j < kColumns; ++j) {
    Shifted wrong = shifted_;
    wrong.product[j] *= 1.01;
    const PartDecision decision = decide(wrong);
    EXPECT_EQ(decision.verdict, Verdict::unknown) << j;
    EXPECT_FALSE(decision.open.empty());
  }
  Shifted swapped = shifted_;
  std::swap(swapped.product[0], swapped.product[1]);
  EXPECT_EQ(decide(swapped).verdict, Verdict::unknown);
  Shifted infinite = shifted_;
  infinite.product[2] = HUGE_VAL;
  EXPECT_EQ(decide(infinite).verdict, Verdict::unknown);
}

TEST_F(ShiftedProduct, IsNotProvedIfFactorsOfTheInputDiffer) {
  Shifted wrong = shifted_;
  wrong.weights[3] = std::nextafter(static_cast<float>(wrong.weights[3]), 2.0F);
  EXPECT_EQ(decide(wrong).verdict, Verdict::unknown);
}

TEST_F(ConstantRest, OfTwoStoredConstantsMustBeZero) {
  const Poly n(arena_.symbols().named(ir::SymbolKind::dimension, "n"));
  const ValueId x = input({n, Poly(3)});
  const std::vector<double> stored = {0.5, 1.5, 2.5};
  std::vector<double> other = stored;
  other[1] = std::nextafter(1.5F, 2.0F);
  const ValueId a = apply("add", {x, constant({3}, stored)});
  EXPECT_EQ(prove(a, apply("add", {x, constant({3}, other)})).verdict, Verdict::unknown);
}

// x + p with one p for all rows and x + b as two steps, and their sum in one.
TEST_F(ConstantRest, SumsOverPositionsOfBroadcastConstants) {
  const Poly n(arena_.symbols().named(ir::SymbolKind::dimension, "n"));
  const ValueId x = input({n, Poly(2), Poly(3)});
  const std::vector<double> position = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6};
  const std::vector<double> bias = {1, 2, 3};
  std::vector<double> sum(6);
  for (std::size_t k = 0; k < sum.size(); ++k) sum[k] = static_cast<float>(position[k]) + static_cast<float>(bias[k % 3]);
  const ValueId a = apply("add", {apply("add", {x, constant({2, 3}, position)}), constant({3}, bias)});
  EXPECT_EQ(prove(a, apply("add", {x, constant({2, 3}, sum)})).verdict, Verdict::proved);
  sum[4] += 0.01;
  EXPECT_EQ(prove(a, apply("add", {x, constant({2, 3}, sum)})).verdict, Verdict::unknown);
}

// x w + x v + x * scale, and x times the sum of the kernels, which was computed in float.
class AddedKernels : public ConstantRest {
 protected:
  static constexpr std::int64_t kSize = 4;
  using Elements = std::vector<double>;

  Elements sum() const {
    Elements result(first_.size());
    for (std::size_t k = 0; k < result.size(); ++k) {
      result[k] = static_cast<float>(first_[k]) + static_cast<float>(second_[k]);
      if (k % (kSize + 1) == 0) result[k] = static_cast<float>(result[k]) + static_cast<float>(scale_[k / (kSize + 1)]);
    }
    return result;
  }

  PartDecision decide(const Elements& merged) {
    const ValueId x = input({n_, Poly(kSize)});
    const ValueId products =
        apply("add", {apply("matmul", {x, constant({kSize, kSize}, first_)}), apply("matmul", {x, constant({kSize, kSize}, second_)})});
    const ValueId a = apply("add", {products, apply("mul", {x, constant({kSize}, scale_)})});
    return prove(a, apply("matmul", {x, constant({kSize, kSize}, merged)}));
  }

  Poly n_{arena_.symbols().named(ir::SymbolKind::dimension, "n")};
  Elements first_ = random(kSize * kSize);
  Elements second_ = random(kSize * kSize);
  Elements scale_ = random(kSize);
};

TEST_F(AddedKernels, AreProvedUpToRounding) {
  const PartDecision decision = decide(sum());
  EXPECT_EQ(decision.verdict, Verdict::proved) << decision.open;
  ASSERT_TRUE(decision.rounding);
  EXPECT_LE(decision.rounding->difference, decision.rounding->allowed);
  EXPECT_LT(decision.rounding->allowed, 1e-5);
}

TEST_F(AddedKernels, AreNotProvedIfAnElementIsAnother) {
  for (std::size_t k = 0; k < first_.size(); ++k) {
    Elements wrong = sum();
    wrong[k] *= 1.0001;
    EXPECT_EQ(decide(wrong).verdict, Verdict::unknown) << k;
  }
  Elements turned = sum();
  for (std::size_t k = 0; k < turned.size(); ++k) turned[k] = sum()[k % kSize * kSize + k / kSize];
  EXPECT_EQ(decide(turned).verdict, Verdict::unknown);
  Elements infinite = sum();
  infinite[3] = HUGE_VAL;
  EXPECT_EQ(decide(infinite).verdict, Verdict::unknown);
}

// A kernel that is wider than the other one: where nothing is added, its elements must be the same.
TEST_F(ConstantRest, ElementsToWhichNothingIsAddedMustBeEqual) {
  const Poly n(arena_.symbols().named(ir::SymbolKind::dimension, "n"));
  const ValueId x = input({n, Poly(3)});
  const std::vector<double> wide = random(3);
  const std::vector<double> narrow = random(1);
  const ValueId head = apply("slice", {x},
                             {{"starts", ir::polys(std::vector<std::int64_t>{0, 1})},
                              {"sizes", std::vector<Poly>{n, Poly(1)}},
                              {"steps", ir::polys(std::vector<std::int64_t>{1, 1})}});
  const ValueId a = apply("add", {apply("matmul", {x, constant({3, 1}, wide)}), apply("matmul", {head, constant({1, 1}, narrow)})});
  std::vector<double> merged = wide;
  merged[1] = static_cast<float>(wide[1]) + static_cast<float>(narrow[0]);
  EXPECT_EQ(prove(a, apply("matmul", {x, constant({3, 1}, merged)})).verdict, Verdict::proved);
  merged[2] = std::nextafter(static_cast<float>(merged[2]), 2.0F);
  EXPECT_EQ(prove(a, apply("matmul", {x, constant({3, 1}, merged)})).verdict, Verdict::unknown);
}

// In B the first row has no product, which A has.
TEST_F(ConstantRest, RangesThatOneTermLacksAreNotLeftOut) {
  const ValueId x = input({Poly(4), Poly(3)});
  const std::vector<double> first = random(9);
  const std::vector<double> second = random(9);
  std::vector<double> merged(9);
  for (std::size_t k = 0; k < merged.size(); ++k) merged[k] = static_cast<float>(first[k]) + static_cast<float>(second[k]);
  const ir::Attributes below{{"starts", ir::polys(std::vector<std::int64_t>{1, 0})},
                             {"sizes", ir::polys(std::vector<std::int64_t>{3, 3})},
                             {"steps", ir::polys(std::vector<std::int64_t>{1, 1})}};
  const ir::Attributes above{{"begins", ir::polys(std::vector<std::int64_t>{1, 0})}, {"ends", ir::polys(std::vector<std::int64_t>{0, 0})}};
  const auto without_first = [&](ValueId value) { return apply("pad", {apply("slice", {value}, below)}, above); };
  const auto product = [&](ValueId value, const std::vector<double>& weights) {
    return apply("matmul", {value, constant({3, 3}, weights)});
  };
  const ValueId all = apply("add", {product(x, first), product(x, second)});
  const ValueId some = apply("add", {product(without_first(x), first), product(without_first(x), second)});
  EXPECT_EQ(prove(all, product(x, merged)).verdict, Verdict::proved);
  EXPECT_EQ(prove(some, product(without_first(x), merged)).verdict, Verdict::proved);
  EXPECT_EQ(prove(all, product(without_first(x), merged)).verdict, Verdict::unknown);
  EXPECT_EQ(prove(some, product(x, merged)).verdict, Verdict::unknown);
  EXPECT_EQ(prove(apply("add", {product(without_first(x), first), product(x, second)}), product(x, merged)).verdict, Verdict::unknown);
}

// Without bounds that are numbers no element is looked at: the row of an open size is an index of no constant here.
TEST_F(ConstantRest, IsNotDecidedByInputs) {
  const Poly n(arena_.symbols().named(ir::SymbolKind::dimension, "n"));
  const ValueId x = input({n, Poly(3)});
  const ValueId z = input({n, Poly(3)});
  const ValueId c = constant({3}, {1, 2, 3});
  const ValueId a = apply("add", {apply("mul", {x, c}), z});
  EXPECT_EQ(prove(a, apply("add", {apply("mul", {x, c}), x})).verdict, Verdict::unknown);
}

// sum over m of c[m], less c[m] at a free m: a symbol that two terms mean differently decides nothing.
TEST_F(ConstantRest, BindersOfOneTermAreNotThoseOfAnother) {
  const ValueId x = arena_.input({ir::DataType::float32, true, {Poly(2)}}, inputs_++);
  const std::vector<double> elements = {0, 0};
  const KnownVariables known = {{x, {ir::DataType::float32, {2}, elements}}};
  const ir::SymbolId index = arena_.symbols().fresh(ir::SymbolKind::index, "m");
  auto factor = std::make_shared<verifier::Factor>();
  factor->variable = x;
  factor->indices = {Poly(index)};
  const verifier::Condition range = {ops::less_than(Poly(index), Poly(2))};
  verifier::NormalTerm bound;
  bound.factors = {{factor, 1}};
  bound.conditions = range;
  bound.binders = {index};
  verifier::NormalTerm free = bound;
  free.binders.clear();
  EXPECT_TRUE(rounding_of_rest(arena_.symbols(), std::vector<verifier::NormalTerm>{bound, bound}, range, known, {}));
  EXPECT_TRUE(rounding_of_rest(arena_.symbols(), std::vector<verifier::NormalTerm>{free, free}, range, known, {}));
  EXPECT_FALSE(rounding_of_rest(arena_.symbols(), std::vector<verifier::NormalTerm>{bound, free}, range, known, {}));
}

TEST_F(ConstantRest, OfIntegersIsNotDecided) {
  KnownVariables known;
  const ValueId x = arena_.input({ir::DataType::int64, true, {Poly(2)}}, inputs_++);
  const std::vector<double> elements = {0, 0};
  const ir::SymbolId index = arena_.symbols().fresh(ir::SymbolKind::index, "i");
  auto factor = std::make_shared<verifier::Factor>();
  factor->variable = x;
  factor->indices = {Poly(index)};
  verifier::NormalTerm term;
  term.factors = {{factor, 1}};
  const verifier::Condition range = {ops::less_than(Poly(index), Poly(2))};
  const std::vector<verifier::NormalTerm> terms = {term};
  EXPECT_FALSE(rounding_of_rest(arena_.symbols(), terms, range, known, {}));  // nothing is known of x
  known[x] = {ir::DataType::int64, {2}, elements};
  EXPECT_FALSE(rounding_of_rest(arena_.symbols(), terms, range, known, {}));
  known[x].data_type = ir::DataType::float32;
  EXPECT_TRUE(rounding_of_rest(arena_.symbols(), terms, range, known, {}));
  EXPECT_FALSE(rounding_of_rest(arena_.symbols(), terms, {}, known, {}));  // no bound of the index
  const verifier::Condition wide = {ops::less_than(Poly(index), Poly(3))};
  EXPECT_FALSE(rounding_of_rest(arena_.symbols(), terms, wide, known, {}));  // an element that is not there
  const verifier::Condition many = {ops::less_than(Poly(index), Poly(std::int64_t{1} << 30U))};
  EXPECT_FALSE(rounding_of_rest(arena_.symbols(), terms, many, known, {}));
}

}  // namespace
}  // namespace xflow::equivalence
