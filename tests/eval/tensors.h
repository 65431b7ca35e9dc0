// Graphs of one operator and seeded tensors, for the tests of evaluation.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string_view>
#include <vector>

#include "src/eval/evaluate.h"
#include "src/ops/operator.h"

namespace xflow::eval {

using Dims = std::vector<std::int64_t>;

inline ir::TensorType float_type(const Dims& dims) { return {ir::DataType::float32, true, ir::polys(dims)}; }

// Elements are multiples of 1/4 in [-4, 4], so that sums of products are exact in double.
inline Tensor random_tensor(const Dims& dims, std::uint32_t seed) {
  std::mt19937 random(seed);
  Tensor tensor = Tensor::of_doubles(ir::DataType::float32, dims, {});
  std::vector<double> values(tensor.count());
  for (double& value : values) value = (static_cast<int>(random() % 33) - 16) / 4.0;
  tensor.elements = std::move(values);
  return tensor;
}

inline ir::Attributes attributes(std::initializer_list<ir::Attribute> list) { return {list}; }

// One operator applied to inputs with the shapes of `tensors`.
inline Result<Tensor> run_operator(std::string_view op, const std::vector<Tensor>& tensors, ir::Attributes list = {},
                                   const Options& options = {}) {
  ir::Arena arena;
  std::vector<ir::ValueId> operands;
  Bindings bindings;
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    operands.push_back(arena.input({tensors[k].data_type, true, ir::polys(tensors[k].dims)}, static_cast<std::uint32_t>(k)));
    bindings.emplace(operands.back(), tensors[k]);
  }
  XFLOW_TRY(const ir::ValueId value, ops::apply(arena, op, operands, std::move(list)));
  XFLOW_TRY(std::vector<Tensor> result, evaluate(arena, ir::Graph{{value}}, bindings, options));
  return std::move(result[0]);
}

inline std::vector<double> values_of(const Result<Tensor>& tensor) {
  EXPECT_TRUE(tensor) << tensor.error().text();
  if (!tensor) return {};
  const auto values = doubles(*tensor);
  EXPECT_TRUE(values) << values.error().text();
  return values ? *values : std::vector<double>{};
}

}  // namespace xflow::eval
