// A matrix of numbers of networks.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace xflow::policy {

// Row-major.
struct Matrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<float> values;

  Matrix() = default;
  Matrix(std::size_t r, std::size_t c) : rows(r), columns(c), values(r * c) {}

  float& at(std::size_t row, std::size_t column) { return values[row * columns + column]; }
  float at(std::size_t row, std::size_t column) const { return values[row * columns + column]; }
  std::span<float> row(std::size_t number) { return std::span(values).subspan(number * columns, columns); }
  std::span<const float> row(std::size_t number) const { return std::span(values).subspan(number * columns, columns); }

  friend bool operator==(const Matrix&, const Matrix&) = default;
};

}  // namespace xflow::policy
