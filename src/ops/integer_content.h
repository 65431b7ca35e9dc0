// What integer tensors hold, where that is known before the run: shape arithmetic as index polynomials.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "src/ir/graph.h"

namespace xflow::ops {

// Finds the elements of integer and boolean values of known small shape (at most ir::Constant::kSmall elements), row-major, as polynomials
// (booleans as 0 and 1). There is no table of operators: an operation's index notation is evaluated at each output index over fractions of
// polynomials, so everything that an operator of src/ops computes from known integers is known. Remembers what it found.
//
// Results are exact for every size of the dynamic dimensions, given that no integer arithmetic of the model overflows and, where the model
// computes sizes in floating point (floor(1/2 * float(size))), that the sizes are at most 2^16.
class IntegerContent {
 public:
  explicit IntegerContent(ir::Arena& arena) : arena_(arena) {}

  // Nothing where an element depends on data, or on a comparison of sizes that the bounds of their symbols do not decide.
  std::optional<std::vector<ir::Poly>> of(ir::ValueId value);

  // numerator / denominator; the denominator is a power of two, 1 for integers and booleans.
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

// The same without remembering.
std::optional<std::vector<ir::Poly>> integer_content(ir::Arena& arena, ir::ValueId value);

}  // namespace xflow::ops
