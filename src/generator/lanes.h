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

// Lanes are worked on four at a time.
constexpr std::size_t padded(std::size_t lanes) { return (lanes + 3) / 4 * 4; }

// out[element][lane] of one output; operands[k][element][lane]. `lanes` is a multiple of 4. False where an element has no value (of pairs:
// none modulo the first prime).
bool evaluate(const Plan& plan, std::span<const Residue* const> operands, std::size_t lanes, Residue* out);
bool evaluate(const Plan& plan, std::span<const Pair* const> operands, std::size_t lanes, Pair* out);
bool evaluate(const Plan& plan, std::span<const Integer* const> operands, std::size_t lanes, Integer* out);

// A hash of the tensor of each lane: two sums over the elements with fixed weights modulo the first prime, 62 bits. `salt` tells shapes
// apart.
void hash_lanes(const Residue* values, std::size_t elements, std::size_t lanes, std::uint64_t salt, std::uint64_t* out);
void hash_lanes(const Pair* values, std::size_t elements, std::size_t lanes, std::uint64_t salt, std::uint64_t* out);
void hash_lanes(const Integer* values, std::size_t elements, std::size_t lanes, std::uint64_t salt, std::uint64_t* out);

}  // namespace xflow::generator
