// Decides whether the terms that a proof leaves over, with constants as coefficients, sum to 0 up to
// rounding.
#pragma once

#include <optional>
#include <span>

#include "src/equivalence/constants.h"
#include "src/equivalence/rest_groups.h"
#include "src/ir/graph.h"
#include "src/verifier/algebra/normal.h"
#include "src/verifier/deadline.h"

namespace xflow::equivalence {

// How far rounding explains that the terms do not sum to 0 where `context` holds, whatever the variables are
// that are not known: the coefficient of each product of elements of these must be 0 up to rounding
// (group_rest). `difference` is the largest coefficient, `allowed` the largest that is explained, and
// `magnitude` that of the largest number. Nothing if one of them is not explained, or if that is not known:
// - group_rest does not group the terms,
// - an index has no bounds that are numbers, an element is not finite, or there are more than 64 million
//   products or 1 million positions,
// - the deadline is over.
//
// Another program that computes a sum of n numbers in a type with unit roundoff u may be off by
// 4 u sqrt(n) times the sum of their magnitudes. Two single elements must be equal, because nothing was
// computed.
std::optional<Rounding> rounding_of_rest(const ir::Symbols& symbols, std::span<const verifier::NormalTerm> terms,
                                         const verifier::Condition& context, const KnownVariables& known,
                                         const verifier::Deadline& deadline);

}  // namespace xflow::equivalence
