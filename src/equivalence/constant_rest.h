// Decides whether the terms that a proof leaves over, products of constants, sum to 0 up to rounding.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "src/equivalence/constants.h"
#include "src/ir/graph.h"
#include "src/verifier/algebra/normal.h"
#include "src/verifier/deadline.h"

namespace xflow::equivalence {

// A variable of a proof that stands for a constant.
struct KnownVariable {
  ir::DataType data_type = ir::DataType::undefined;
  std::vector<std::int64_t> dims;
  std::span<const double> elements;  // row-major
};
using KnownVariables = std::unordered_map<ir::ValueId, KnownVariable>;

// How far rounding explains that the terms do not sum to 0 where `context` holds: `difference` is the
// largest sum, `allowed` the largest that is explained, and `magnitude` that of the largest number. Nothing
// if one sum is not explained, or if that is not known:
// - a term reads a variable that is not known, or has other factors than elements of variables,
// - an index has no bounds that are numbers, an element is not finite, or there are more than 4 million
//   products,
// - the deadline is over.
//
// Another program that computes a sum of n numbers in a type with unit roundoff u may be off by
// 4 u sqrt(n) times the sum of their magnitudes. Two single elements must be equal, because nothing was
// computed.
std::optional<Rounding> rounding_of_rest(const ir::Symbols& symbols, std::span<const verifier::NormalTerm> terms,
                                         const verifier::Condition& context, const KnownVariables& known,
                                         const verifier::Deadline& deadline);

}  // namespace xflow::equivalence
