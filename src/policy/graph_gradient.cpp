#include "src/policy/graph_gradient.h"

#include <fmt/format.h>

#include <cstring>

namespace xflow::policy {
namespace {

// result += left * right. Zeros of `left`, which has many of them, cost nothing.
void add_product(const Matrix& left, const Matrix& right, Matrix& result) {
  for (std::size_t row = 0; row < left.rows; ++row) {
    const std::span<float> to = result.row(row);
    for (std::size_t k = 0; k < left.columns; ++k) {
      const float factor = left.at(row, k);
      if (factor == 0) continue;
      const std::span<const float> from = right.row(k);
      for (std::size_t column = 0; column < to.size(); ++column) to[column] += factor * from[column];
    }
  }
}

// result += transpose(left) * right.
void add_product_of_transposed(const Matrix& left, const Matrix& right, Matrix& result) {
  for (std::size_t row = 0; row < left.rows; ++row) {
    const std::span<const float> from = right.row(row);
    for (std::size_t k = 0; k < left.columns; ++k) {
      const float factor = left.at(row, k);
      if (factor == 0) continue;
      const std::span<float> to = result.row(k);
      for (std::size_t column = 0; column < to.size(); ++column) to[column] += factor * from[column];
    }
  }
}

// result += left * transpose(right).
void add_product_with_transposed(const Matrix& left, const Matrix& right, Matrix& result) {
  for (std::size_t row = 0; row < left.rows; ++row) {
    const std::span<const float> from = left.row(row);
    for (std::size_t k = 0; k < right.rows; ++k) {
      const std::span<const float> other = right.row(k);
      float sum = 0;
      for (std::size_t column = 0; column < from.size(); ++column) sum += from[column] * other[column];
      result.at(row, k) += sum;
    }
  }
}

// Adds the derivative of a sum by an operand that may be one row.
void add_rows(const Matrix& by_result, Matrix& by_operand) {
  for (std::size_t row = 0; row < by_result.rows; ++row) {
    const std::span<const float> from = by_result.row(row);
    const std::span<float> to = by_operand.row(by_operand.rows == 1 ? 0 : row);
    for (std::size_t column = 0; column < to.size(); ++column) to[column] += from[column];
  }
}

Matrix sum_of(const Matrix& left, const Matrix& right) {
  Matrix result = left;
  for (std::size_t row = 0; row < result.rows; ++row) {
    const std::span<const float> from = right.row(right.rows == 1 ? 0 : row);
    for (std::size_t column = 0; column < result.columns; ++column) result.at(row, column) += from[column];
  }
  return result;
}

}  // namespace

Result<GraphGradient> GraphGradient::of(const Graph& graph) {
  GraphGradient result;
  std::size_t values = 0;
  const auto count = [&](Value value) {
    values = std::max(values, static_cast<std::size_t>(value) + 1);
    return static_cast<std::size_t>(value);
  };
  for (const GraphInput& input : graph.inputs()) {
    if (input.data_type != DataType::float32 || input.dims.size() != 2)
      return fail(ErrorCode::unsupported, fmt::format("input '{}' is no matrix of float32", input.name));
    result.input_values_.push_back(count(input.value));
  }
  for (const GraphWeight& weight : graph.weights()) {
    if (weight.data_type != DataType::float32 || weight.dims.empty() || weight.dims.size() > 2)
      return fail(ErrorCode::unsupported, "a weight is no matrix of float32");
    const auto rows = static_cast<std::size_t>(weight.dims.size() == 2 ? weight.dims[0] : 1);
    Matrix matrix(rows, static_cast<std::size_t>(weight.dims.back()));
    std::memcpy(matrix.values.data(), weight.bytes.data(), weight.bytes.size());
    result.weights_.push_back(std::move(matrix));
    result.weight_values_.push_back(count(weight.value));
  }
  for (const GraphNode& node : graph.nodes()) {
    Step step;
    if (node.op == "matmul" || node.op == "add") {
      step.kind = node.op == "add" ? Kind::add : Kind::matmul;
      step.right = static_cast<std::size_t>(node.operands[1]);
    } else if (node.op == "relu") {
      step.kind = Kind::relu;
    } else {
      return fail(ErrorCode::unsupported, fmt::format("operator '{}' has no derivative", node.op));
    }
    step.left = static_cast<std::size_t>(node.operands[0]);
    step.result = count(node.results[0]);
    result.steps_.push_back(step);
  }
  for (const GraphOutput& output : graph.outputs()) result.output_values_.push_back(static_cast<std::size_t>(output.value));
  result.depends_.resize(values);
  for (const std::size_t weight : result.weight_values_) result.depends_[weight] = true;
  for (const Step& step : result.steps_)
    result.depends_[step.result] = result.depends_[step.left] || (step.kind != Kind::relu && result.depends_[step.right]);
  result.computed_.resize(values);
  result.known_.resize(values);
  return result;
}

std::vector<Matrix> GraphGradient::compute(std::span<const Matrix* const> inputs) {
  for (std::size_t k = 0; k < inputs.size(); ++k) known_[input_values_[k]] = inputs[k];
  for (std::size_t k = 0; k < weights_.size(); ++k) known_[weight_values_[k]] = &weights_[k];
  for (const Step& step : steps_) {
    Matrix& result = computed_[step.result];
    const Matrix& left = value(step.left);
    switch (step.kind) {
      case Kind::matmul:
        result = Matrix(left.rows, value(step.right).columns);
        add_product(left, value(step.right), result);
        break;
      case Kind::add:
        result = sum_of(left, value(step.right));
        break;
      case Kind::relu:
        result = left;
        for (float& x : result.values) x = x > 0 ? x : 0;
        break;
    }
    known_[step.result] = &result;
  }
  std::vector<Matrix> outputs;
  outputs.reserve(output_values_.size());
  for (const std::size_t output : output_values_) outputs.push_back(value(output));
  return outputs;
}

void GraphGradient::differentiate(std::span<const Matrix> by_outputs, std::span<Matrix> sums) {
  std::vector<Matrix> by_value(known_.size());
  const auto of = [&](std::size_t number) -> Matrix& {
    Matrix& result = by_value[number];
    if (result.values.empty()) result = Matrix(value(number).rows, value(number).columns);
    return result;
  };
  for (std::size_t k = 0; k < by_outputs.size(); ++k) add_rows(by_outputs[k], of(output_values_[k]));
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    const Matrix& by_result = by_value[step->result];
    if (by_result.values.empty()) continue;
    switch (step->kind) {
      case Kind::matmul:
        if (depends_[step->left]) add_product_with_transposed(by_result, value(step->right), of(step->left));
        if (depends_[step->right]) add_product_of_transposed(value(step->left), by_result, of(step->right));
        break;
      case Kind::add:
        if (depends_[step->left]) add_rows(by_result, of(step->left));
        if (depends_[step->right]) add_rows(by_result, of(step->right));
        break;
      case Kind::relu:
        if (!depends_[step->left]) break;
        for (std::size_t k = 0; k < by_result.values.size(); ++k) {
          if (value(step->result).values[k] > 0) of(step->left).values[k] += by_result.values[k];
        }
        break;
    }
  }
  for (std::size_t k = 0; k < weights_.size(); ++k) {
    if (!by_value[weight_values_[k]].values.empty()) add_rows(by_value[weight_values_[k]], sums[k]);
  }
}

}  // namespace xflow::policy
