// What integer tensors hold, where that is known before the run: shape arithmetic as index polynomials.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "src/ir/graph.h"

namespace xflow::ops {

// Finds the elements of integer and boolean values of known small shape (at most ir::Constant::kSmall elements), row-major, as polynomials
// (booleans as 0 and 1). There is no table of operators: an operation's index notation is evaluated at each output index over
// polynomials, so everything that an operator of src/ops computes from known integers is known. Remembers what it found.
//
// Results are exact for every size of the dynamic dimensions, given that no integer arithmetic of the model overflows.
class IntegerContent {
 public:
  explicit IntegerContent(ir::Arena& arena) : arena_(arena) {}

  // Nothing where an element depends on data, or on a comparison of sizes that the bounds of their symbols do not decide.
  std::optional<std::vector<ir::Poly>> of(ir::ValueId value);

  // The same without a copy; null where nothing is known. Valid as long as this object.
  const std::vector<ir::Poly>* find(ir::ValueId value);

 private:
  std::optional<std::vector<ir::Poly>> compute(ir::ValueId value);

  ir::Arena& arena_;
  std::unordered_map<ir::ValueId, std::optional<std::vector<ir::Poly>>> known_;
};

// The same without remembering.
std::optional<std::vector<ir::Poly>> integer_content(ir::Arena& arena, ir::ValueId value);

}  // namespace xflow::ops
