// Small systems of linear equations, which fits of models solve in each step.
#pragma once

#include <array>
#include <cstddef>

namespace xflow::cost::profile {

// Solves a·x = b for a symmetric, positive definite matrix.
template <std::size_t N>
std::array<double, N> solve_system(std::array<std::array<double, N>, N> a, std::array<double, N> b) {
  for (std::size_t k = 0; k < N; ++k)
    for (std::size_t row = k + 1; row < N; ++row) {
      const double factor = a[row][k] / a[k][k];
      for (std::size_t column = k; column < N; ++column) a[row][column] -= factor * a[k][column];
      b[row] -= factor * b[k];
    }
  for (std::size_t k = N; k-- > 0;) {
    for (std::size_t column = k + 1; column < N; ++column) b[k] -= a[k][column] * b[column];
    b[k] /= a[k][k];
  }
  return b;
}

}  // namespace xflow::cost::profile
