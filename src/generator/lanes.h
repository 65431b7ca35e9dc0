// Tensors of numbers for several values of the inputs at once: [element][lane].
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/generator/numbers.h"
#include "src/generator/plan.h"

namespace xflow::generator {

// The kinds of numbers: residues modulo the first prime, pairs of residues, exact integers.
using Residue = std::uint32_t;
using Integer = std::int64_t;

// Lanes are worked on so many at a time.
inline constexpr std::size_t kLanes = 8;
constexpr std::size_t padded(std::size_t lanes) { return (lanes + kLanes - 1) / kLanes * kLanes; }

// out[element][lane] of one output; operands[k][element][lane]. `lanes` is a multiple of kLanes. False where an element has no value (of
// pairs: none modulo the first prime).
bool evaluate(const Plan& plan, std::span<const Residue* const> operands, std::size_t lanes, Residue* out);
bool evaluate(const Plan& plan, std::span<const Pair* const> operands, std::size_t lanes, Pair* out);
bool evaluate(const Plan& plan, std::span<const Integer* const> operands, std::size_t lanes, Integer* out);

// A hash of the tensor of each lane: two sums over the elements with fixed weights, modulo the first prime or, of integers, modulo 2^64.
// `salt` tells shapes apart.
void hash_lanes(const Residue* values, std::size_t elements, std::size_t lanes, std::uint64_t salt, std::uint64_t* out);
void hash_lanes(const Pair* values, std::size_t elements, std::size_t lanes, std::uint64_t salt, std::uint64_t* out);
void hash_lanes(const Integer* values, std::size_t elements, std::size_t lanes, std::uint64_t salt, std::uint64_t* out);

}  // namespace xflow::generator
