#include "src/eval/sampled.h"

#include <gtest/gtest.h>

#include <random>

#include "src/ops/operator.h"

namespace xflow::eval {
namespace {

class Sampled : public ::testing::Test {
 protected:
  ir::ValueId input(std::vector<std::int64_t> dims) {
    const ir::ValueId value = arena_.input({ir::DataType::float32, true, ir::polys(dims)}, static_cast<std::uint32_t>(arena_.size()));
    std::uint64_t count = 1;
    for (const std::int64_t dim : dims) count *= static_cast<std::uint64_t>(dim);
    std::vector<double> values(count);
    std::uniform_real_distribution<double> numbers(-1, 1);
    for (double& v : values) v = numbers(random_);
    given_.emplace(value, Tensor::of_doubles(ir::DataType::float32, dims, values));
    return value;
  }
  ir::ValueId op(std::string_view name, std::vector<ir::ValueId> operands, ir::Attributes attributes = {}) {
    const auto made = ops::apply(arena_, name, std::move(operands), std::move(attributes));
    EXPECT_TRUE(made) << (made ? "" : made.error().text());
    return *made;
  }
  SampledEvaluation::Lookup lookup(const SampledBindings& bindings) {
    return [&bindings](ir::ValueId value) -> const SampledTensor* {
      const auto at = bindings.find(value);
      return at == bindings.end() ? nullptr : &at->second;
    };
  }
  // Every chosen element is that of the whole value.
  void expect_same(ir::ValueId value, std::uint64_t most) {
    const auto all = evaluate(arena_, ir::Graph{{value}}, given_);
    ASSERT_TRUE(all) << all.error().text();
    const std::vector<double> numbers = *doubles((*all)[0]);
    SampledBindings given;
    for (const auto& [v, tensor] : given_) given.emplace(v, SampledTensor::of(tensor));
    SampledEvaluation evaluation(arena_, options_);
    const Sample sample = sample_of(*evaluation.dims_of(value), most);
    const auto plan = evaluation.plan(value, sample, lookup(given));
    ASSERT_TRUE(plan) << plan.error().text();
    const auto whole_plan = evaluation.plan(value, whole(*evaluation.dims_of(value)), lookup(given));
    EXPECT_LT(plan->work, whole_plan->work);
    const auto some = evaluation.run(*plan, lookup(given));
    ASSERT_TRUE(some) << some.error().text();
    const std::vector<double> found = *doubles(some->tensor);
    ASSERT_EQ(found.size(), count_of(sample));
    EXPECT_LE(found.size(), most);
    const std::vector<std::int64_t>& dims = (*all)[0].dims;
    for (std::size_t k = 0; k < found.size(); ++k) {
      const std::vector<std::int64_t> index = some->index_of(k);
      std::int64_t at = 0;
      for (std::size_t d = 0; d < dims.size(); ++d) at = at * dims[d] + index[d];
      EXPECT_EQ(found[k], numbers[static_cast<std::size_t>(at)]) << k;
    }
  }

  ir::Arena arena_;
  Bindings given_;
  Options options_;
  std::mt19937 random_{7};
};

TEST_F(Sampled, ElementsDependOnSizesAlone) {
  const Sample sample = sample_of({1, 100, 7, 40}, 200);
  EXPECT_LE(count_of(sample), 200U);
  EXPECT_GT(count_of(sample), 50U);
  EXPECT_EQ(size_of(sample), 28000U);
  EXPECT_TRUE(sample[0].all());
  EXPECT_TRUE(sample[2].all());
  for (const Positions& positions : {sample[1], sample[3]}) {
    ASSERT_FALSE(positions.all());
    EXPECT_EQ(positions.chosen.front(), 0);
    EXPECT_EQ(positions.chosen.back(), positions.size - 1);
    for (std::size_t k = 0; k < positions.chosen.size(); ++k)
      EXPECT_EQ(positions.chosen[k] / positions.interval, static_cast<std::int64_t>(k));
  }
  const Sample repeated = sample_of({1, 100, 7, 40}, 200);
  EXPECT_EQ(sample[1].chosen, repeated[1].chosen);
  EXPECT_EQ(sample[3].chosen, repeated[3].chosen);
}

TEST_F(Sampled, SmallTensorsAreWhole) { EXPECT_TRUE(is_whole(sample_of({3, 4}, 12))); }

TEST_F(Sampled, HalvingEndsWithOneElement) {
  Sample sample = whole({std::int64_t{1} << 40, 3});
  int steps = 0;
  while (halve(sample)) ++steps;
  EXPECT_EQ(count_of(sample), 1U);
  EXPECT_LT(steps, 64);
}

TEST_F(Sampled, ElementsOfChainsAreThoseOfTheWhole) {
  const ir::ValueId x = input({40, 30});
  expect_same(op("relu", {op("add", {x, input({30})})}), 100);
}

TEST_F(Sampled, ElementsOfProductsAreThoseOfTheWhole) {
  const ir::ValueId a = op("tanh", {op("matmul", {input({24, 20}), input({20, 36})})});
  expect_same(op("matmul", {a, input({36, 28})}), 50);
}

TEST_F(Sampled, ElementsOfWindowsAreThoseOfTheWhole) {
  const ir::Attributes attributes = {{"strides", ir::polys(std::vector<std::int64_t>{2, 1})},
                                     {"pads", ir::polys(std::vector<std::int64_t>{1, 1, 1, 1})},
                                     {"dilations", ir::polys(std::vector<std::int64_t>{1, 1})},
                                     {"groups", ir::Poly(1)}};
  const ir::ValueId first = op("relu", {op("conv", {input({1, 4, 40, 20}), input({6, 4, 3, 3})}, attributes)});
  expect_same(op("conv", {first, input({8, 6, 3, 3})}, attributes), 60);
}

TEST_F(Sampled, ElementsOfMovementsAreThoseOfTheWhole) {
  const ir::ValueId x = input({12, 10, 14});
  const ir::ValueId turned = op("transpose", {x}, {{"perm", ir::polys(std::vector<std::int64_t>{2, 0, 1})}});
  const ir::ValueId flat = op("reshape", {op("exp", {turned})}, {{"shape", ir::polys(std::vector<std::int64_t>{28, 60})}});
  expect_same(op("concat", {flat, op("neg", {flat})}, {{"axis", ir::Poly(0)}}), 90);
}

TEST_F(Sampled, ElementsAfterSumsOverRowsAreThoseOfTheWhole) {
  const ir::ValueId scores = op("matmul", {input({2, 16, 8}), input({2, 8, 24})});
  expect_same(op("matmul", {op("softmax", {scores}, {{"axis", ir::Poly(2)}}), input({2, 24, 8})}), 30);
}

// An element that was not chosen is read as the chosen one of its interval.
TEST_F(Sampled, TensorsAreReadEverywhere) {
  const ir::ValueId x = arena_.input({ir::DataType::float32, true, ir::polys(std::vector<std::int64_t>{10})}, 0);
  const ir::ValueId y = op("neg", {x});
  SampledBindings given;
  given.emplace(x, SampledTensor{Tensor::of_doubles(ir::DataType::float32, {2}, {3, 4}), {Positions{10, {0, 9}, 5}}});
  SampledEvaluation evaluation(arena_, options_);
  const auto all = evaluation.compute(y, whole({10}), lookup(given));
  ASSERT_TRUE(all) << all.error().text();
  EXPECT_EQ(*doubles(all->tensor), (std::vector<double>{-3, -3, -3, -3, -3, -4, -4, -4, -4, -4}));
}

// A graph of tensors of which some elements are known computes the same as on the tensors that are read in their place.
TEST_F(Sampled, ReadersOfSamplesAgree) {
  const ir::ValueId x = input({1, 64, 8, 8});
  const ir::ValueId z = input({1, 64, 8, 8});
  const ir::ValueId shift = input({64, 1, 1});
  const ir::ValueId weight = input({16, 128, 1, 1});
  SampledEvaluation evaluation(arena_, options_);
  SampledBindings some;
  Bindings filled;
  for (const auto& [value, most] : {std::pair(x, 1024), std::pair(z, 600)}) {
    SampledBindings whole_one;
    whole_one.emplace(value, SampledTensor::of(given_.at(value)));
    const Sample sample = sample_of(*evaluation.dims_of(value), static_cast<std::uint64_t>(most));
    EXPECT_FALSE(is_whole(sample));
    some.emplace(value, *evaluation.compute(value, sample, lookup(whole_one)));
    filled.emplace(value, evaluation.compute(value, whole(*evaluation.dims_of(value)), lookup(some))->tensor);
  }
  for (const ir::ValueId value : {shift, weight}) {
    some.emplace(value, SampledTensor::of(given_.at(value)));
    filled.emplace(value, given_.at(value));
  }
  const auto conv = [&](ir::ValueId value) {
    const auto list = [](std::vector<std::int64_t> all) { return ir::polys(all); };
    return op("conv", {value, weight},
              {{"strides", list({1, 1})}, {"pads", list({0, 0, 0, 0})}, {"dilations", list({1, 1})}, {"groups", ir::Poly(1)}});
  };
  const auto concat = [&](ir::ValueId a, ir::ValueId b) { return op("concat", {a, b}, {{"axis", ir::Poly(1)}}); };
  for (const ir::ValueId value :
       {concat(x, z), conv(concat(x, z)), conv(concat(op("add", {x, shift}), z)), conv(concat(op("add", {x, z}), z)),
        conv(concat(op("add", {op("add", {x, shift}), z}), op("add", {z, shift})))}) {
    const auto expected = evaluate(arena_, ir::Graph{{value}}, filled);
    ASSERT_TRUE(expected) << expected.error().text();
    const std::vector<double> numbers = *doubles((*expected)[0]);
    const Sample all = whole(*evaluation.dims_of(value));
    const auto plan = evaluation.plan(value, all, lookup(some));
    ASSERT_TRUE(plan) << plan.error().text();
    const auto found = evaluation.run(*plan, lookup(some));
    ASSERT_TRUE(found) << found.error().text();
    const std::vector<double> elements = *doubles(found->tensor);
    ASSERT_EQ(elements.size(), numbers.size());
    std::size_t different = 0;
    for (std::size_t k = 0; k < numbers.size(); ++k) different += std::abs(elements[k] - numbers[k]) > 1e-9 ? 1 : 0;
    EXPECT_EQ(different, 0U) << "of " << numbers.size();
  }
}

TEST_F(Sampled, IndicesThatAreElementsAreThoseOfTheWhole) {
  const ir::ValueId x = input({30, 40});
  const ir::ValueId indices = arena_.input({ir::DataType::int64, true, ir::polys(std::vector<std::int64_t>{20})}, 9);
  std::vector<std::int64_t> rows(20);
  for (std::int64_t k = 0; k < 20; ++k) rows[static_cast<std::size_t>(k)] = (k * 7) % 30;
  given_.emplace(indices, Tensor::of_integers(ir::DataType::int64, {20}, rows));
  expect_same(op("gather", {op("relu", {x}), op("neg", {op("neg", {indices})})}, {{"axis", ir::Poly(0)}}), 40);
}

// Sizes of 2^34 elements are no reason to compute any of them.
TEST_F(Sampled, WorkIsKnownWithoutComputing) {
  const std::int64_t n = std::int64_t{1} << 17;
  const ir::ValueId x = arena_.input({ir::DataType::float32, true, ir::polys(std::vector<std::int64_t>{n, n})}, 0);
  const ir::ValueId product = op("matmul", {x, x});
  SampledEvaluation evaluation(arena_, options_);
  Sample sample = whole({n, n});
  EXPECT_GT(*evaluation.work(product, sample), std::uint64_t{1} << 50);
  while (halve(sample)) {
  }
  EXPECT_LT(*evaluation.work(product, sample), std::uint64_t{1} << 20);
}

}  // namespace
}  // namespace xflow::eval
