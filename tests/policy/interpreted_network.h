// Networks that the interpreter of xflow computes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "src/eval/evaluate.h"
#include "src/optimizer/built_graph.h"
#include "src/policy/graph_gradient.h"

namespace xflow::policy {

inline std::vector<const Matrix*> pointers(const std::vector<Matrix>& matrices) {
  std::vector<const Matrix*> result(matrices.size());
  std::ranges::transform(matrices, result.begin(), [](const Matrix& matrix) { return &matrix; });
  return result;
}

// The interpreter computes what the loops of the training do, to 1e-5.
inline void expect_interpreted(const Graph& graph, const std::vector<Matrix>& inputs) {
  auto gradient = GraphGradient::of(graph);
  ASSERT_TRUE(gradient) << gradient.error().text();
  const std::vector<Matrix> expected = gradient->compute(pointers(inputs));
  ir::Arena arena;
  const auto built = api::to_ir(graph, arena);
  ASSERT_TRUE(built) << built.error().text();
  eval::Bindings bindings;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    eval::Tensor tensor;
    tensor.data_type = ir::DataType::float32;
    tensor.dims = {static_cast<std::int64_t>(inputs[k].rows), static_cast<std::int64_t>(inputs[k].columns)};
    tensor.elements = inputs[k].values;
    bindings.emplace(built->inputs[k], std::move(tensor));
  }
  eval::Options options;
  options.number = eval::Number::float32;
  const auto outputs = eval::evaluate(arena, built->graph, bindings, options);
  ASSERT_TRUE(outputs) << outputs.error().text();
  ASSERT_EQ(expected.size(), outputs->size());
  for (std::size_t k = 0; k < expected.size(); ++k) {
    const auto& values = std::get<std::vector<float>>((*outputs)[k].elements);
    ASSERT_EQ(expected[k].values.size(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(expected[k].values[i], values[i], 1e-5);
  }
}

}  // namespace xflow::policy
