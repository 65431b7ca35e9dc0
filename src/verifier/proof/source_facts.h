// Source facts: what the source of a rule demands to have values and to run. They are facts for both sides,
// because the target is compared with the source only where they hold.
//
// The logarithm of x demands x > 0, a root of x demands x >= 0, a division by x demands x != 0. These are
// facts about an element of an output, and hold where that element of the source has a value. They say
// nothing about other elements, nor about whether nodes run, since a runtime continues where a logarithm has
// no value. Demands for an index in range and for a nonzero integer divisor hold for all elements of their
// nodes, since a runtime would stop otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "src/verifier/algebra/known_signs.h"
#include "src/verifier/algebra/ranges.h"

namespace xflow::verifier {

// The signs that demands of the source (demands.h) state. Their numbers start at `first`.
std::vector<KnownSign> known_signs(const std::vector<Piece>& given, std::size_t first);

// A range of elements of an integer tensor that a demand of the source states.
struct KnownRange {
  std::size_t number;  // of the demand, counted from `first`
  std::uint32_t tensor;
  Ranges::Elements range;
};
std::vector<KnownRange> known_ranges(ir::Symbols& symbols, const std::vector<Piece>& given, std::size_t first);

}  // namespace xflow::verifier
