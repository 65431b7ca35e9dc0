// Matrices of random numbers.
#pragma once

#include <cstddef>

#include "src/parallel/random_numbers.h"
#include "src/policy/matrix.h"

namespace xflow::policy {

// From -1 to 1.
inline Matrix random_matrix(std::size_t rows, std::size_t columns, parallel::RandomNumbers& random) {
  Matrix matrix(rows, columns);
  for (float& x : matrix.values) x = static_cast<float>(2 * random.unit() - 1);
  return matrix;
}

}  // namespace xflow::policy
