// Evaluates tensors for several assignments of the inputs at once. Layout: [element][assignment].
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "src/egraph/numbers.h"
#include "src/generator/enumerate/element_plan.h"

namespace xflow::generator {

// The kinds of numbers: residues modulo the first prime, pairs of residues, exact integers.
using Residue = std::uint32_t;
using Integer = std::int64_t;

// Assignments are processed in blocks of this size, or one alone.
inline constexpr std::size_t kAssignments = 8;
constexpr std::size_t padded(std::size_t assignments) {
  return assignments == 1 ? 1 : (assignments + kAssignments - 1) / kAssignments * kAssignments;
}

// Computes out[element][assignment] of one output from operands[k][element][assignment]. `assignments` is 1
// or a multiple of kAssignments. Returns false if an element has no value (for pairs: no value modulo the
// first prime).
bool evaluate(const ElementPlan& plan, std::span<const Residue* const> operands, std::size_t assignments, Residue* out);
bool evaluate(const ElementPlan& plan, std::span<const Pair* const> operands, std::size_t assignments, Pair* out);
bool evaluate(const ElementPlan& plan, std::span<const Integer* const> operands, std::size_t assignments, Integer* out);

// Hashes the tensor of each assignment by two sums over its elements with fixed weights, modulo the first
// prime, or modulo 2^64 for integers. `salt` distinguishes shapes.
void hash_assignments(const Residue* values, std::size_t elements, std::size_t assignments, std::uint64_t salt, std::uint64_t* out);
void hash_assignments(const Pair* values, std::size_t elements, std::size_t assignments, std::uint64_t salt, std::uint64_t* out);
void hash_assignments(const Integer* values, std::size_t elements, std::size_t assignments, std::uint64_t salt, std::uint64_t* out);

// The parts of a hash: element e adds its number times weight(k, e) to sum k, which starts with the salt;
// *_hash() combine the sums. Sums are modulo 2^64 for integers and modulo the first prime for residues.
std::uint32_t residue_weight(std::size_t sum, std::size_t element);
constexpr std::uint64_t integer_weight(std::size_t sum, std::size_t element) { return mix(2 * element + sum) | 1; }
constexpr std::uint64_t residue_hash(std::uint32_t first, std::uint32_t second) { return static_cast<std::uint64_t>(first) << 31 | second; }
constexpr std::uint64_t integer_hash(std::uint64_t first, std::uint64_t second) { return mix(first) ^ (second << 32 | second >> 32); }
// The sums of weights[k][e] * values[e].
std::array<std::uint64_t, 2> weighted_sums(std::span<const std::vector<std::uint32_t>, 2> weights, const Residue* values);
std::array<std::uint64_t, 2> weighted_sums(std::span<const std::vector<std::uint64_t>, 2> weights, const Integer* values);
// The sums of weights[k][e] * a[e] * b[e].
std::array<std::uint64_t, 2> weighted_products(std::span<const std::vector<std::uint32_t>, 2> weights, const Residue* a, const Residue* b);
std::array<std::uint64_t, 2> weighted_products(std::span<const std::vector<std::uint64_t>, 2> weights, const Integer* a, const Integer* b);

}  // namespace xflow::generator
