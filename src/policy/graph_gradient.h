// Derivatives of graphs that are built in code.
//
// Everything is computed in float by loops in a fixed order, so that the same inputs give the same bits on
// every processor.
#pragma once

#include <xflow/graph.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/policy/matrix.h"

namespace xflow::policy {

// Computes the outputs of a graph of matrices, and the derivatives of a number that depends on them by the
// weights. Operators: matmul, add and mul of equal sizes or of a matrix and a row, relu, sigmoid, tanh,
// softmax of rows, transpose, concat of rows. A weight of one dimension is a row. Weights may be changed.
class GraphGradient {
 public:
  // Errors: unsupported for other operators, types than float32 and operands of more dimensions.
  static Result<GraphGradient> of(const Graph& graph);

  std::span<Matrix> weights() { return weights_; }  // in the order of Graph::weights
  std::span<const Matrix> weights() const { return weights_; }

  // Outputs, in the order of Graph::outputs, for inputs in the order of Graph::inputs, which must have the
  // columns of the graph. Inputs must live until the last differentiate(), which needs them.
  std::vector<Matrix> compute(std::span<const Matrix* const> inputs);

  // Adds the derivatives of a number by the weights to `sums`, which has the sizes of weights().
  // `by_outputs` are its derivatives by the outputs of the last compute().
  void differentiate(std::span<const Matrix> by_outputs, std::span<Matrix> sums);

 private:
  enum class Kind : std::uint8_t { matmul, add, mul, relu, sigmoid, tanh, softmax, transpose, concat };
  struct Step {
    Kind kind{};
    std::vector<std::size_t> operands;
    std::size_t result = 0;
  };
  static Result<Step> step_of(const GraphNode& node);
  const Matrix& value(std::size_t number) const { return *known_[number]; }
  const Matrix& operand(const Step& step, std::size_t number) const { return value(step.operands[number]); }
  Matrix result_of(const Step& step) const;
  // `by_operand` is null for an operand that depends on no weight.
  void differentiate(const Step& step, const Matrix& by_result, std::span<Matrix* const> by_operand) const;

  std::vector<Matrix> weights_;
  std::vector<std::size_t> weight_values_;  // numbers of values
  std::vector<std::size_t> input_values_;
  std::vector<std::size_t> output_values_;
  std::vector<Step> steps_;
  std::vector<bool> depends_;         // of a value: on a weight
  std::vector<Matrix> computed_;      // of a value that a step computes
  std::vector<const Matrix*> known_;  // of each value
};

}  // namespace xflow::policy
