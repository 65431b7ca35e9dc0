// What the source of a rule needs to have values and to run, as facts for both sides: the target is compared with the source only there.
//
// The logarithm of x needs x > 0, a root of x needs x >= 0, a division by x an x that is not 0: facts about an element of an output that
// hold where that element of the source has a value. They say nothing of other elements, nor of whether nodes run, since a runtime goes
// on where a logarithm has no value. An index that is in range and an integer divisor that is not 0 hold for all elements of their nodes,
// since a runtime would stop otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "src/verifier/algebra/known_signs.h"
#include "src/verifier/algebra/ranges.h"

namespace xflow::verifier {

// The signs that demands of the source (demands.h) say; the numbers count on from `first`.
std::vector<KnownSign> known_signs(const std::vector<Piece>& given, std::size_t first);

// The ranges of elements of integer tensors that demands of the source say: the number of the tensor, and the range.
struct KnownRange {
  std::size_t number;  // of the demand, counted on from `first`
  std::uint32_t tensor;
  Ranges::Elements range;
};
std::vector<KnownRange> known_ranges(ir::Symbols& symbols, const std::vector<Piece>& given, std::size_t first);

}  // namespace xflow::verifier
