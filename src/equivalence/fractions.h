// Floating-point numbers that are rounded fractions, such as the float next to 1/6.
#pragma once

#include <optional>

#include "src/equivalence/constants.h"
#include "src/ir/attribute.h"
#include "src/ir/rational.h"
#include "src/ir/type.h"

namespace xflow::equivalence {

// The simplest fraction p/q of which `number` is the nearest number of a floating type, q as small as
// possible. Nothing if `number` is itself such a fraction (all p / 2^k are), or if p q is larger than 2^16,
// less for types of fewer than 24 bits: then a fraction is next to too many numbers to mean anything.
std::optional<ir::Rational> rounded_fraction(double number, ir::DataType type);

// The same for the number of an attribute, which ONNX stores as a float.
std::optional<ir::Rational> rounded_fraction(const ir::AttributeValue& attribute);

// How far a number is from the fraction that it is taken for, and how far it may be: half a unit in the last
// place.
Rounding rounding_of_fraction(double number, const ir::Rational& fraction, ir::DataType type);

}  // namespace xflow::equivalence
