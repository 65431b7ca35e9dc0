// Kernels with values for their operands, and what the interpreter makes of them.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "src/eval/evaluate.h"
#include "src/kernels/kernel_graph.h"
#include "src/kernels/node_launch.h"
#include "src/ops/operator.h"
#include "tests/eval/operator_samples.h"

namespace xflow::testing {

struct KernelCase {
  ops::KernelSpec spec;
  std::vector<Operand> operands;  // those of post-operations after
};

inline ops::TensorSpec tensor_spec(std::vector<std::int64_t> dims, ir::DataType type = ir::DataType::float32) {
  return {type, std::move(dims), false};
}

// With operands between these bounds.
inline KernelCase case_of(const ops::KernelSpec& spec, double low = -1.5, double high = 1.5) {
  KernelCase made{spec, {}};
  const auto add = [&](const ops::TensorSpec& tensor) { made.operands.push_back({tensor.data_type, tensor.dims, low, high}); };
  for (const ops::TensorSpec& tensor : spec.operands) add(tensor);
  for (const ops::PostOperation& post : spec.post)
    for (const ops::TensorSpec& tensor : post.operands) add(tensor);
  return made;
}

// Of every operator.
inline std::vector<KernelCase> operator_cases() {
  std::vector<KernelCase> cases;
  for (const Sample& sample : samples()) {
    ir::Arena arena;
    std::vector<ir::ValueId> operands;
    for (const Operand& operand : sample.operands)
      operands.push_back(arena.input({operand.type, true, ir::polys(operand.dims)}, static_cast<std::uint32_t>(operands.size())));
    ops::Typing typing(arena.symbols());
    const auto node = ops::apply(arena, typing, ops::id_of(sample.op), operands, sample.attributes);
    EXPECT_TRUE(node) << text_of(sample) << ": " << node.error().text();
    if (!node) continue;
    auto kernel = cost::kernel_of(arena, *node, [](ir::SymbolId) { return std::nullopt; });
    if (!kernel || kernel->operands != operands) continue;  // a power with an exponent that is known, ...
    cases.push_back({std::move(kernel->spec), sample.operands});
  }
  return cases;
}

struct KernelValues {
  std::vector<ir::Constant> operands;
  std::vector<eval::Tensor> results;
};

inline Result<KernelValues> values_of(const KernelCase& made) {
  KernelValues found;
  ir::Arena arena;
  std::vector<ir::ValueId> values;
  eval::Bindings bindings;
  for (std::size_t k = 0; k < made.operands.size(); ++k) {
    const Operand& operand = made.operands[k];
    values.push_back(arena.input({operand.type, true, ir::polys(operand.dims)}, static_cast<std::uint32_t>(k)));
    const eval::Tensor drawn = tensor(operand, xflow::testing::values(operand, static_cast<unsigned>(k)));
    XFLOW_TRY(found.operands.emplace_back(), eval::to_constant(drawn));
    bindings.emplace(values.back(), drawn);
  }
  XFLOW_TRY(const std::vector<ir::ValueId> graph, cost::graph_of(arena, made.spec, values));
  XFLOW_TRY(found.results, eval::evaluate(arena, ir::Graph{graph}, bindings));
  return found;
}

inline std::size_t bytes_of(const eval::Tensor& tensor) {
  return doubles(tensor)->size() * static_cast<std::size_t>(ir::bits(tensor.data_type)) / 8;
}

// The bytes are the tensor, as near as its type is.
inline void expect_near(const eval::Tensor& tensor, std::vector<std::byte> bytes) {
  const ir::DataType type = tensor.data_type;
  const std::vector<double> wanted = doubles(tensor).value();
  const std::vector<double> found = ir::doubles(ir::Constant{type, tensor.dims, ir::owned_bytes(std::move(bytes))}).value();
  const double tolerance = !ir::is_floating(type)           ? 0
                           : type == ir::DataType::float16  ? 4e-3
                           : type == ir::DataType::bfloat16 ? 3e-2
                           : type == ir::DataType::float64  ? 1e-12
                                                            : 3e-5;
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], wanted[i], tolerance * (1 + std::abs(wanted[i]))) << "element " << i;
}

}  // namespace xflow::testing
