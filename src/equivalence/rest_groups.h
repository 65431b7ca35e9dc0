// Groups the terms that a proof leaves over by their factors that are no constants.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "src/ir/graph.h"
#include "src/verifier/algebra/normal.h"

namespace xflow::equivalence {

// The variable of a constant in a proof.
struct KnownVariable {
  ir::DataType data_type = ir::DataType::undefined;
  std::vector<std::int64_t> dims;
  std::span<const double> elements;  // row-major
};
using KnownVariables = std::unordered_map<ir::ValueId, KnownVariable>;

// The least and the greatest value of a symbol.
struct IndexBounds {
  std::int64_t low = 0;
  std::int64_t high = -1;

  double count() const { return high < low ? 0.0 : static_cast<double>(high - low) + 1; }
};

// The bounds that conditions on this symbol alone give. Indices and binders are at least 0.
std::optional<IndexBounds> bounds_of(const ir::Symbols& symbols, ir::SymbolId symbol, const verifier::Condition& conditions);

// A term whose other factors were taken away.
struct KnownPart {
  verifier::NormalTerm term;       // with the factors of known variables alone; its conditions give the bounds of its binders
  verifier::Condition conditions;  // of the term that are left
  // The indices of the other factors, one after the other, less `base`: what is the same in those of all
  // terms of the group.
  std::vector<ir::Poly> position;
};

// The terms of a group are
//   sum over positions of (product of other factors, elements at base + position) * (coefficient at the position)
// where the coefficient is the sum of the terms' known parts at binders that give this position. The sum is
// 0 if each coefficient is 0. That is not necessary only where several positions or orders of factors are
// the same product.
struct RestGroup {
  std::vector<KnownPart> terms;
};

// Conditions that say that an index of an other factor is in a range, such as that of a convolution's
// padding, are left out where all terms of a group have them, or follow from the bounds of their indices:
// they are a factor of all coefficients at a position. Nothing if a factor is no element of a variable, or a
// term has dimensions as factors, or an index of an other factor is not linear in the binders.
std::optional<std::vector<RestGroup>> group_rest(const ir::Symbols& symbols, std::span<const verifier::NormalTerm> terms,
                                                 const verifier::Condition& context, const KnownVariables& known);

}  // namespace xflow::equivalence
