// Superpositions: two rewrites as one. Where the target of a rewrite that gains nothing by itself contains
// what another one rewrites, a search that asks for a gain at each step finds neither. (x + a) + (z + b) =
// (x + z) + (a + b) brings two convolutions with biases beside each other, whose kernels may then be added:
// (conv(x, v) + a) + (conv(x, w) + b) = conv(x, v + w) + (a + b).
//
// The target of the first and the source of the second are unified, as critical pairs are (Knuth and Bendix,
// Simple word problems in universal algebras, 1970). The results are candidates: they are proved as others
// are.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "src/generator/enumerate/candidates.h"

namespace xflow::generator {

// A signature with the same operators and more inputs, for graphs that are made of two.
Result<GraphSignature> wider_signature(const SignatureOptions& options);

// Superpositions of a `move` and a `gain`, from source to target each, over `wide`, a wider signature.
// Operators of several outputs are left out, as are large sources, and sources that the gain rewrites
// without the move. Of those with one source the one with the least target, where parameters are constants,
// comes out. Those with the smallest sources come first; the order depends on the arguments alone.
std::vector<RuleCandidate> superpositions(const GraphSignature& signature, const GraphSignature& wide, std::span<const RuleCandidate> moves,
                                          std::span<const RuleCandidate> gains);

// The moves, in both directions, that candidates say: of each two graphs that are equal to a third one too.
std::vector<RuleCandidate> moves_of(const GraphSignature& signature, std::span<const RuleCandidate> candidates);
// Whether a candidate can be a move: it has no operation of several outputs or that weighs more than a
// pointwise one. Its source reads nothing twice, and numbers for channels or columns, or one number, which
// its target reads too. It changes no divisor.
bool is_move(const GraphSignature& signature, const RuleCandidate& candidate);
// Whether the target costs less than the source where parameters are constants, and the source has an
// operation that weighs more than a pointwise one; or loses_numbers().
bool is_gain(const GraphSignature& signature, const RuleCandidate& candidate);

}  // namespace xflow::generator
