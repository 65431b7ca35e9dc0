// The claim that two values are equal, as the verifier takes it.
#pragma once

#include <xflow/error.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "src/equivalence/constant_rest.h"
#include "src/equivalence/constants.h"
#include "src/ir/graph.h"
#include "src/rules/instance.h"

namespace xflow::equivalence {

// Two values and the operations that compute them from the given values and constants, operands before
// users.
struct PartClaim {
  ir::ValueId a;
  ir::ValueId b;
  std::vector<ir::ValueId> given;
  std::vector<ir::NodeId> of_a;
  std::vector<ir::NodeId> of_b;
  bool computed_constants = false;  // constants that are results of expressions are computed, not given
  bool fractions = false;           // numbers that are rounded fractions are these fractions
};

// The claim with `a` as the source and `b` as the target. Given values are variables. So are constants,
// except that
// - a constant of equal floating-point elements is this number,
// - a constant that is joined from others, padded with zeros, or a part of another one, is computed from it,
// - with `computed_constants`, a constant expression is this expression of stored constants,
// - with `fractions`, a constant of equal elements that are a rounded fraction (fractions.h) is the
//   fraction; and so is a number in an attribute.
// The signs of all elements of a constant are facts. So are the requirements of the types of A's operations;
// those of B's are obligations. Errors: ill_typed; those of reading constants.
struct PartInstance {
  rules::RuleInstance rule;
  KnownVariables known;  // variables that stand for floating-point constants
  // Numbers and their variables. `known` refers to the numbers.
  std::map<std::pair<ir::DataType, double>, ir::ValueId> numbers;
  std::optional<Rounding> rounding;  // the largest of a number that was taken for a fraction
};
Result<PartInstance> part_instance(const ir::Arena& arena, const PartClaim& claim, Constants& constants);

}  // namespace xflow::equivalence
