#include "src/policy/graph_gradient.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

namespace xflow::policy {
namespace {

// Four numbers of a row, which instructions of all processors add and multiply at once.
using Four = float __attribute__((vector_size(16)));
constexpr std::size_t kFour = 4;
constexpr std::size_t kFours = 4;  // that a sum has in registers

// Adds sum(factor(k) row_k) to a row, for `count` rows of the matrix. Sums are added in the order of k, as
// one number at a time would be. Zeros, of which there are many, cost nothing.
template <typename Factor>
void add_rows_times(std::size_t count, const Factor& factor, const Matrix& matrix, std::span<float> row) {
  constexpr std::size_t kBlock = kFour * kFours;
  const std::size_t whole = row.size() / kBlock * kBlock;
  for (std::size_t column = 0; column < whole; column += kBlock) {
    Four sums[kFours];
    std::memcpy(sums, &row[column], sizeof(sums));
    for (std::size_t k = 0; k < count; ++k) {
      const float own = factor(k);
      if (own == 0) continue;
      Four values[kFours];
      std::memcpy(values, matrix.row(k).data() + column, sizeof(values));
      for (std::size_t part = 0; part < kFours; ++part) sums[part] += own * values[part];
    }
    std::memcpy(&row[column], sums, sizeof(sums));
  }
  if (whole == row.size()) return;
  for (std::size_t k = 0; k < count; ++k) {
    const float own = factor(k);
    if (own == 0) continue;
    const std::span<const float> values = matrix.row(k);
    for (std::size_t column = whole; column < row.size(); ++column) row[column] += own * values[column];
  }
}

// result += left * right.
void add_product(const Matrix& left, const Matrix& right, Matrix& result) {
  for (std::size_t row = 0; row < left.rows; ++row)
    add_rows_times(
        left.columns, [&](std::size_t k) { return left.at(row, k); }, right, result.row(row));
}

// result += transpose(left) * right.
void add_product_of_transposed(const Matrix& left, const Matrix& right, Matrix& result) {
  for (std::size_t row = 0; row < left.columns; ++row)
    add_rows_times(
        left.rows, [&](std::size_t k) { return left.at(k, row); }, right, result.row(row));
}

// The row of a matrix, or the only one.
std::span<const float> row_of(const Matrix& matrix, std::size_t row) { return matrix.row(matrix.rows == 1 ? 0 : row); }

// Adds the rows of a matrix to those of another one, or to its only one.
void add_rows(const Matrix& matrix, Matrix& to) {
  for (std::size_t row = 0; row < matrix.rows; ++row) {
    const std::span<const float> from = matrix.row(row);
    const std::span<float> sums = to.row(to.rows == 1 ? 0 : row);
    for (std::size_t column = 0; column < sums.size(); ++column) sums[column] += from[column];
  }
}

// Of each element with that of the same place; one matrix may have a single row.
template <typename Function>
Matrix for_each(const Matrix& left, const Matrix& right, const Function& function) {
  Matrix result(std::max(left.rows, right.rows), left.columns);
  for (std::size_t row = 0; row < result.rows; ++row) {
    const std::span<const float> a = row_of(left, row);
    const std::span<const float> b = row_of(right, row);
    const std::span<float> to = result.row(row);
    for (std::size_t column = 0; column < to.size(); ++column) to[column] = function(a[column], b[column]);
  }
  return result;
}

template <typename Function>
Matrix for_each(const Matrix& matrix, const Function& function) {
  Matrix result = matrix;
  for (float& x : result.values) x = function(x);
  return result;
}

Matrix product_of(const Matrix& left, const Matrix& right) {
  Matrix result(left.rows, right.columns);
  add_product(left, right, result);
  return result;
}

Matrix transposed(const Matrix& matrix) {
  Matrix result(matrix.columns, matrix.rows);
  for (std::size_t row = 0; row < matrix.rows; ++row) {
    for (std::size_t column = 0; column < matrix.columns; ++column) result.at(column, row) = matrix.at(row, column);
  }
  return result;
}

// exp(x - most) / sum, by rows.
Matrix softmax_of(const Matrix& matrix) {
  Matrix result = matrix;
  for (std::size_t row = 0; row < matrix.rows; ++row) {
    const std::span<float> to = result.row(row);
    const float most = *std::ranges::max_element(to);
    float sum = 0;
    for (float& x : to) sum += x = std::exp(x - most);
    for (float& x : to) x /= sum;
  }
  return result;
}

// Of softmax, where `result` is its result: result (by_result - sum(by_result result)), by rows.
Matrix by_softmax(const Matrix& result, const Matrix& by_result) {
  Matrix by(result.rows, result.columns);
  for (std::size_t row = 0; row < result.rows; ++row) {
    float sum = 0;
    for (std::size_t column = 0; column < result.columns; ++column) sum += by_result.at(row, column) * result.at(row, column);
    for (std::size_t column = 0; column < result.columns; ++column)
      by.at(row, column) = result.at(row, column) * (by_result.at(row, column) - sum);
  }
  return by;
}

}  // namespace

Result<GraphGradient::Step> GraphGradient::step_of(const GraphNode& node) {
  static constexpr std::array<std::pair<std::string_view, Kind>, 9> kKinds = {{{"matmul", Kind::matmul},
                                                                               {"add", Kind::add},
                                                                               {"mul", Kind::mul},
                                                                               {"relu", Kind::relu},
                                                                               {"sigmoid", Kind::sigmoid},
                                                                               {"tanh", Kind::tanh},
                                                                               {"softmax", Kind::softmax},
                                                                               {"transpose", Kind::transpose},
                                                                               {"concat", Kind::concat}}};
  const auto kind = std::ranges::find(kKinds, node.op, [](const auto& known) { return known.first; });
  if (kind == kKinds.end()) return fail(ErrorCode::unsupported, fmt::format("operator '{}' has no derivative", node.op));
  Step step{kind->second, {}, static_cast<std::size_t>(node.results[0])};
  for (const Value operand : node.operands) step.operands.push_back(static_cast<std::size_t>(operand));
  for (const auto& [name, value] : node.attributes) {
    const auto* axis = std::get_if<std::int64_t>(&value);
    const bool is_known = step.kind == Kind::concat ? axis != nullptr && *axis == 0
                                                    : step.kind != Kind::softmax || (axis != nullptr && (*axis == 1 || *axis == -1));
    if (!is_known) return fail(ErrorCode::unsupported, fmt::format("operator '{}' has no derivative along this axis", node.op));
  }
  return step;
}

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
    XFLOW_TRY(Step step, step_of(node));
    values = std::max(values, step.result + 1);
    result.steps_.push_back(std::move(step));
  }
  for (const GraphOutput& output : graph.outputs()) result.output_values_.push_back(static_cast<std::size_t>(output.value));
  result.depends_.resize(values);
  for (const std::size_t weight : result.weight_values_) result.depends_[weight] = true;
  for (const Step& step : result.steps_)
    result.depends_[step.result] = std::ranges::any_of(step.operands, [&](std::size_t operand) { return result.depends_[operand]; });
  result.computed_.resize(values);
  result.known_.resize(values);
  return result;
}

Matrix GraphGradient::result_of(const Step& step) const {
  const Matrix& first = operand(step, 0);
  switch (step.kind) {
    case Kind::matmul:
      return product_of(first, operand(step, 1));
    case Kind::add:
      return for_each(first, operand(step, 1), [](float a, float b) { return a + b; });
    case Kind::mul:
      return for_each(first, operand(step, 1), [](float a, float b) { return a * b; });
    case Kind::relu:
      return for_each(first, [](float x) { return x > 0 ? x : 0; });
    case Kind::sigmoid:
      return for_each(first, [](float x) { return 1 / (1 + std::exp(-x)); });
    case Kind::tanh:
      return for_each(first, [](float x) { return std::tanh(x); });
    case Kind::softmax:
      return softmax_of(first);
    case Kind::transpose:
      return transposed(first);
    case Kind::concat:
      break;
  }
  Matrix result(0, first.columns);
  for (const std::size_t number : step.operands) {
    const Matrix& added = value(number);
    result.rows += added.rows;
    result.values.insert(result.values.end(), added.values.begin(), added.values.end());
  }
  return result;
}

std::vector<Matrix> GraphGradient::compute(std::span<const Matrix* const> inputs) {
  for (std::size_t k = 0; k < inputs.size(); ++k) known_[input_values_[k]] = inputs[k];
  for (std::size_t k = 0; k < weights_.size(); ++k) known_[weight_values_[k]] = &weights_[k];
  for (const Step& step : steps_) {
    computed_[step.result] = result_of(step);
    known_[step.result] = &computed_[step.result];
  }
  std::vector<Matrix> outputs;
  outputs.reserve(output_values_.size());
  for (const std::size_t output : output_values_) outputs.push_back(value(output));
  return outputs;
}

void GraphGradient::differentiate(const Step& step, const Matrix& by_result, std::span<Matrix* const> by_operand) const {
  const Matrix& result = value(step.result);
  const auto add_by = [&](const auto& slope) {
    if (by_operand[0] != nullptr) add_rows(for_each(by_result, result, slope), *by_operand[0]);
  };
  switch (step.kind) {
    case Kind::matmul:
      if (by_operand[0] != nullptr) add_rows(product_of(by_result, transposed(operand(step, 1))), *by_operand[0]);
      if (by_operand[1] != nullptr) add_product_of_transposed(operand(step, 0), by_result, *by_operand[1]);
      break;
    case Kind::add:
      for (Matrix* by : by_operand) {
        if (by != nullptr) add_rows(by_result, *by);
      }
      break;
    case Kind::mul:
      for (std::size_t k = 0; k < 2; ++k) {
        if (by_operand[k] != nullptr)
          add_rows(for_each(by_result, operand(step, 1 - k), [](float a, float b) { return a * b; }), *by_operand[k]);
      }
      break;
    case Kind::relu:
      add_by([](float by, float y) { return y > 0 ? by : 0; });
      break;
    case Kind::sigmoid:
      add_by([](float by, float y) { return by * y * (1 - y); });
      break;
    case Kind::tanh:
      add_by([](float by, float y) { return by * (1 - y * y); });
      break;
    case Kind::softmax:
      if (by_operand[0] != nullptr) add_rows(by_softmax(result, by_result), *by_operand[0]);
      break;
    case Kind::transpose:
      if (by_operand[0] != nullptr) add_rows(transposed(by_result), *by_operand[0]);
      break;
    case Kind::concat:
      for (std::size_t k = 0, row = 0; k < by_operand.size(); row += operand(step, k++).rows) {
        for (std::size_t own = 0; by_operand[k] != nullptr && own < by_operand[k]->rows; ++own) {
          const std::span<const float> from = by_result.row(row + own);
          const std::span<float> to = by_operand[k]->row(own);
          for (std::size_t column = 0; column < to.size(); ++column) to[column] += from[column];
        }
      }
      break;
  }
}

void GraphGradient::differentiate(std::span<const Matrix> by_outputs, std::span<Matrix> sums) {
  std::vector<Matrix> by_value(known_.size());
  const auto of = [&](std::size_t number) -> Matrix& {
    Matrix& result = by_value[number];
    if (result.values.empty()) result = Matrix(value(number).rows, value(number).columns);
    return result;
  };
  for (std::size_t k = 0; k < by_outputs.size(); ++k) add_rows(by_outputs[k], of(output_values_[k]));
  std::vector<Matrix*> by_operand;
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    const Matrix& by_result = by_value[step->result];
    if (by_result.values.empty()) continue;
    by_operand.clear();
    for (const std::size_t operand : step->operands) by_operand.push_back(depends_[operand] ? &of(operand) : nullptr);
    differentiate(*step, by_result, by_operand);
  }
  for (std::size_t k = 0; k < weights_.size(); ++k) {
    if (!by_value[weight_values_[k]].values.empty()) add_rows(by_value[weight_values_[k]], sums[k]);
  }
}

}  // namespace xflow::policy
