// The elements of integer tensors that are known before the run: shape arithmetic as index polynomials.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "src/ir/graph.h"

namespace xflow::ops {

// Finds the elements of integer and boolean values of known small shape (at most ir::Constant::kSmall
// elements). The elements are polynomials in row-major order; booleans are 0 and 1. The class has no table
// of operators: it evaluates the index notation of an operation at each output index over fractions of
// polynomials. So it knows everything that an operator of src/ops computes from known integers. It caches
// its results.
//
// Results are exact for every size of the dynamic dimensions under two assumptions: no integer arithmetic of
// the model overflows, and sizes are at most 2^16 if the model computes with them in floating point
// (floor(1/2 * float(size))).
class IntegerContent {
 public:
  explicit IntegerContent(ir::Arena& arena) : arena_(arena) {}

  // The elements of `value`. Nothing if an element depends on data, or on a comparison of sizes that the
  // bounds of their symbols do not decide.
  std::optional<std::vector<ir::Poly>> of(ir::ValueId value);

  // numerator / denominator. The denominator is a power of two, and 1 for integers and booleans.
  struct Fraction {
    ir::Poly numerator;
    std::int64_t denominator = 1;
  };

 private:
  const std::vector<Fraction>* find(ir::ValueId value);
  std::optional<std::vector<Fraction>> compute(ir::ValueId value);

  ir::Arena& arena_;
  std::unordered_map<ir::ValueId, std::optional<std::vector<Fraction>>> known_;
  int depth_ = 0;
};

// IntegerContent::of without a cache.
std::optional<std::vector<ir::Poly>> integer_content(ir::Arena& arena, ir::ValueId value);

}  // namespace xflow::ops
