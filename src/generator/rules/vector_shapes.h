// Vectors in rules: one number for each channel of an image or each column of a matrix, which models write
// with and without dimensions of size 1 before it.
#pragma once

#include <vector>

#include "src/generator/rules/generalisation.h"
#include "src/generator/rules/shapes.h"
#include "src/rules/rule.h"

namespace xflow::generator {

// The sequence of the ones that a vector begins with: rank(L) is 0 or 1.
inline constexpr const char* kLeadingOnes = "L";

// Whether a value is a vector: [1, c, 1, 1] of images, [1, n] of matrices.
bool is_vector(TensorKind kind, const std::vector<Parts>& dims);
// Whether vectors are declared with any number of leading ones.
bool has_leading_ones(TensorKind kind, Generalisation generalisation);
// The dimensions with which a vector of this size is declared: [1^L, size, 1^S], [1^L, size, 1, 1] or [1^L,
// size], with one leading 1 if not `leading_ones`. `spatial`: S, or the sequence of a kernel that it scales.
std::vector<rules::Expression> vector_dims(TensorKind kind, Generalisation generalisation, rules::Expression size, bool leading_ones,
                                           const char* spatial = "S");
// The shape of one number for each kernel: [size, 1, 1^W] or [size, 1, 1, 1].
rules::Expression kernel_numbers(Generalisation generalisation, rules::Expression size);

}  // namespace xflow::generator
