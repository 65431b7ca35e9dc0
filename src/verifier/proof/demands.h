// Demands: what has to hold for an element of a graph to have a value.
//
// A demand is a piece as of a maximum whose body is one predicate of expressions: wherever the conditions hold, for all binders, the
// predicate holds of its first arguments if its other arguments, the guards, are all 1. Division asks for "nonzero", a logarithm for
// "positive", a root for "nonnegative", a power with an exponent that is not known for "power", a conversion to an integer type for "fits
// int8". These hold for each element by itself. "in_range" of an index and a size, and "divisor" of a division of integers, are asked of
// all elements of a node, since a runtime that computes the node stops otherwise.
//
// A rule is proved only if every demand of the target follows from those of the source: it is among them where it applies.
#pragma once

#include <string_view>
#include <vector>

#include "src/verifier/algebra/simplify.h"

namespace xflow::verifier {

// Simplified demands, wherever `context` holds. Those that are known to hold are left out; products are asked factor by factor. `given`:
// the demands are known to hold, and what is not understood is left out.
std::vector<Piece> simplify_demands(Normalizer& normalizer, const std::vector<Piece>& demands, const Condition& context, bool given);

// The predicate of a demand; nullptr where the body is another expression.
const Factor* predicate_of(const Piece& demand);
// How many arguments of the predicate are no guards.
std::size_t predicate_arity(std::string_view predicate);

// The demand with those of its guards that `kept` names in ascending order; nothing where it is none or has no such guard.
std::optional<Piece> with_guards(const Piece& demand, const std::vector<std::size_t>& kept);
// The number of guards; nothing where the body is no predicate.
std::optional<std::size_t> guard_count(const Piece& demand);

// Those of `given` that could contain `wanted`, with its predicate: what is positive is not 0 and not negative.
std::vector<Piece> candidates_for(const Piece& wanted, const std::vector<Piece>& given);

// "nonzero(s[i])", with where it is asked.
std::string demand_text(const Names& names, const Piece& demand);

}  // namespace xflow::verifier
