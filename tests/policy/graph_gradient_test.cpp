// Derivatives of graphs against differences, and what they refuse.
#include "src/policy/graph_gradient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>

#include "src/policy/placement_network.h"
#include "tests/policy/random_matrix.h"

namespace xflow::policy {
namespace {

std::span<const std::byte> bytes_of(const std::vector<float>& values) { return std::as_bytes(std::span(values)); }

// x, y = relu(x w + b) and z = y y: w is read once, y twice.
Graph squares() {
  GraphBuilder builder;
  const Value x = builder.input("x", DataType::float32, {"M", 3});
  const Value w = builder.weight(DataType::float32, {3, 3}, bytes_of({0.5F, -1, 2, 1, 0.25F, -0.5F, 1, 1, -1}));
  const Value b = builder.weight(DataType::float32, {3}, bytes_of({0.1F, -0.2F, 0.3F}));
  const Value y = builder.apply("relu", {builder.apply("add", {builder.apply("matmul", {x, w}), b})});
  builder.output("y", y);
  builder.output("z", builder.apply("matmul", {y, y}));
  return *builder.build();
}

// The sum of outputs times factors.
double weighed(GraphGradient& gradient, const std::vector<const Matrix*>& inputs, const std::vector<Matrix>& factors) {
  double sum = 0;
  const std::vector<Matrix> outputs = gradient.compute(inputs);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    for (std::size_t i = 0; i < outputs[k].values.size(); ++i) sum += static_cast<double>(outputs[k].values[i]) * factors[k].values[i];
  }
  return sum;
}

// Every derivative by a weight is the slope of the number between two close weights.
void expect_slopes(const Graph& graph, const std::vector<const Matrix*>& inputs, double step, double tolerance) {
  auto gradient = GraphGradient::of(graph);
  ASSERT_TRUE(gradient) << gradient.error().message;
  parallel::RandomNumbers random(5);
  std::vector<Matrix> factors;
  for (const Matrix& output : gradient->compute(inputs)) factors.push_back(random_matrix(output.rows, output.columns, random));
  std::vector<Matrix> sums;
  for (const Matrix& weight : gradient->weights()) sums.emplace_back(weight.rows, weight.columns);
  gradient->differentiate(factors, sums);
  std::size_t others = 0;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    for (std::size_t i = 0; i < sums[k].values.size(); ++i) {
      float& weight = gradient->weights()[k].values[i];
      const float before = weight;
      weight = static_cast<float>(before + step);
      const double above = weighed(*gradient, inputs, factors);
      weight = static_cast<float>(before - step);
      const double below = weighed(*gradient, inputs, factors);
      weight = before;
      EXPECT_NEAR((above - below) / (2 * step), sums[k].values[i], tolerance) << "weight " << k << ", element " << i;
      others += sums[k].values[i] != 0 ? 1 : 0;
    }
  }
  EXPECT_GT(others, 0U);
}

TEST(GraphGradient, IsTheSlopeByEachWeight) {
  parallel::RandomNumbers random(1);
  const Matrix x = random_matrix(3, 3, random);
  expect_slopes(squares(), {&x}, 1e-3, 0.01);
}

TEST(GraphGradient, IsTheSlopeOfThePlacementNetwork) {
  parallel::RandomNumbers random(2);
  const std::vector<Matrix> weights = first_weights(7);
  const Matrix groups = random_matrix(4, 11, random);
  const Matrix parents = random_matrix(4, 4, random);
  const Matrix children = random_matrix(4, 4, random);
  const Matrix devices = random_matrix(3, 13, random);
  const Matrix own = random_matrix(3, 4, random);
  expect_slopes(*whole_graph(weights), {&groups, &parents, &children, &devices, &own, &own, &own, &own}, 1e-3, 0.02);
}

// Two steps of a gate, and what the second one sees of them: every operator that has a derivative, with rows
// as left and as right operands.
Graph attention() {
  GraphBuilder builder;
  parallel::RandomNumbers random(11);
  const auto weight = [&](std::int64_t rows) {
    const Matrix values = random_matrix(static_cast<std::size_t>(rows), 3, random);
    return builder.weight(DataType::float32, {rows, 3}, bytes_of(values.values));
  };
  const Value own = weight(3);
  const Value row = weight(1);
  const auto gate = [&](Value x, const char* function) {
    return builder.apply(function, {builder.apply("add", {row, builder.apply("matmul", {x, own})})});
  };
  const Value x = builder.input("x", DataType::float32, {"M", 3});
  const Value first = builder.apply("mul", {gate(x, "sigmoid"), gate(x, "tanh")});
  const Value second = builder.apply("mul", {row, gate(first, "tanh")});
  const Value both = builder.apply("concat", {first, second}, {{"axis", 0}});
  const Value scores = builder.apply("matmul", {second, builder.apply("transpose", {both}, {{"perm", {1, 0}}})});
  builder.output("seen", builder.apply("matmul", {builder.apply("softmax", {scores}, {{"axis", 1}}), both}));
  builder.output("product", builder.apply("mul", {second, row}));
  return *builder.build();
}

TEST(GraphGradient, IsTheSlopeOfAttention) {
  parallel::RandomNumbers random(3);
  const Matrix x = random_matrix(4, 3, random);
  expect_slopes(attention(), {&x}, 1e-3, 0.01);
}

TEST(GraphGradient, AddsToSums) {
  parallel::RandomNumbers random(1);
  const Matrix x = random_matrix(3, 3, random);
  const Matrix* const inputs[] = {&x};
  auto gradient = *GraphGradient::of(squares());
  const std::vector<Matrix> outputs = gradient.compute(inputs);
  std::vector<Matrix> once = {Matrix(3, 3), Matrix(1, 3)};
  gradient.differentiate(outputs, once);
  std::vector<Matrix> twice = once;
  gradient.differentiate(outputs, twice);
  for (std::size_t i = 0; i < 9; ++i) EXPECT_FLOAT_EQ(2 * once[0].values[i], twice[0].values[i]);
}

TEST(GraphGradient, RefusesWhatItHasNoDerivativeFor) {
  GraphBuilder builder;
  const Value x = builder.input("x", DataType::float32, {2, 2});
  builder.output("y", builder.apply("exp", {x}));
  EXPECT_EQ("operator 'exp' has no derivative", GraphGradient::of(*builder.build()).error().message);
  for (const auto& [op, operands, axis] : {std::tuple{"softmax", 1, 0}, {"concat", 2, 1}}) {
    GraphBuilder other;
    const std::vector<Value> values(static_cast<std::size_t>(operands), other.input("x", DataType::float32, {2, 2}));
    other.output("y", other.apply(op, values, {{"axis", axis}}));
    EXPECT_EQ(std::string("operator '") + op + "' has no derivative along this axis", GraphGradient::of(*other.build()).error().message);
  }
  GraphBuilder integers;
  integers.output("y", integers.apply("relu", {integers.input("x", DataType::int32, {2, 2})}));
  EXPECT_EQ("input 'x' is no matrix of float32", GraphGradient::of(*integers.build()).error().message);
  GraphBuilder cubes;
  const std::vector<float> values(8);
  const Value weight = cubes.weight(DataType::float32, {2, 2, 2}, bytes_of(values));
  cubes.output("y", cubes.apply("matmul", {cubes.input("x", DataType::float32, {2, 2}), weight}));
  EXPECT_EQ("a weight is no matrix of float32", GraphGradient::of(*cubes.build()).error().message);
}

}  // namespace
}  // namespace xflow::policy
