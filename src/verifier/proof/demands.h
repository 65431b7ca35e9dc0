// Demands: what must hold for an element of a graph to have a value.
//
// A demand is a piece, like those of a maximum, whose body is one predicate of expressions. For all binders
// that satisfy the conditions, the predicate holds of its first arguments if its other arguments, the
// guards, are all 1. Division demands "nonzero", a logarithm "positive", a root "nonnegative", a power with
// an unknown exponent "power", and a conversion to an integer type "fits int8". These demands hold for each
// element by itself. "in_range" of an index and a size, and "divisor" of an integer division, are demands of
// all elements of a node, because a runtime that computes the node stops otherwise.
//
// A rule is proved only if every demand of the target follows from those of the source: demands of the
// source cover it wherever it applies.
#pragma once

#include <string_view>
#include <vector>

#include "src/verifier/algebra/simplify.h"

namespace xflow::verifier {

// Simplifies demands, wherever `context` holds. Demands that are known to hold are dropped; products are
// split into factors. `given`: the demands are known to hold, and those that are not understood are dropped.
std::vector<Piece> simplify_demands(Normalizer& normalizer, const std::vector<Piece>& demands, const Condition& context, bool given);

// The predicate of a demand; nullptr if the body is another expression.
const Factor* predicate_of(const Piece& demand);
// The number of arguments of the predicate that are not guards.
std::size_t predicate_arity(std::string_view predicate);

// The demand with only the guards that `kept` lists in ascending order; nullopt if it is not a demand or
// lacks such a guard.
std::optional<Piece> with_guards(const Piece& demand, const std::vector<std::size_t>& kept);
// The number of guards; nullopt if the body is not a predicate.
std::optional<std::size_t> guard_count(const Piece& demand);

// The demands of `given` that could cover `wanted`, with its predicate: a positive value is also nonzero and
// nonnegative.
std::vector<Piece> candidates_for(const Piece& wanted, const std::vector<Piece>& given);

// "nonzero(s[i])", followed by the conditions of the demand.
std::string demand_text(const Names& names, const Piece& demand);

}  // namespace xflow::verifier
