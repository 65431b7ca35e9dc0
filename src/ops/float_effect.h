// What an operator does to floating point numbers. The float class of a rule is decided by what its operators declare here.
#pragma once

#include <cstdint>
#include <span>

namespace xflow::ops {

// How the elements of the outputs come about.
enum class FloatWork : std::uint8_t {
  moves,       // each is an element of an operand that is not an index
  fills,       // the same, or the attribute "value", or 0 where the operator has no such attribute
  makes,       // no operand: constants
  selects,     // an element of an operand, chosen by a boolean
  logic,       // booleans of booleans
  chooses,     // no rounding: of numbers in order, or their negations
  jumps,       // no rounding, but not continuous: rounding of an operand can change the result by a step
  computes,    // each is a rounded function of one element of each operand
  accumulates  // each is a rounded function of many elements, in no defined order
};

// For which finite operands of ordinary size the result is finite.
enum class FloatDomain : std::uint8_t {
  all,              // sums and products overflow only near the largest number
  nonzero_divisor,  // the last operand is not 0
  positive,         // logarithms
  nonnegative,      // roots
  bounded_above,    // exponentials
  power             // operand 0 to the power of operand 1
};

// How errors of operands reach the result, and how large the result is.
enum class FloatError : std::uint8_t {
  copies,      // one of the operands
  adds,        // sum or difference: as large as the operands, but terms can cancel
  multiplies,  // product of operands 0 and 1
  contracts,   // sum of such products, and of any further operand
  divides,     // operand 0 by operand 1
  inverts,     // 1 by operand 0
  continuous,  // at most as large as the operands and 1, with slopes of the order of 1
  bounded,     // at most of the order of 1, with slopes of the order of 1, and an own error that is relative to the result
  own          // a function of its own
};

// The sign of a result that is 0.
enum class ZeroSign : std::uint8_t {
  ieee,        // as IEEE 754 says
  by_runtime,  // ONNX leaves it open; ONNX Runtime keeps the sign of a 0 in operand 0
  either       // ONNX leaves it open and runtimes differ
};

// What is known of the result whatever the operands are.
enum class FloatRange : std::uint8_t {
  any,
  of_operands,      // within the smallest and the largest operand
  nonnegative,      // [0, inf]
  unit,             // [0, 1]
  symmetric,        // [-1, 1]
  at_least_operand  // no element of operand 0 that it is computed from is larger
};

// The result for one element of each operand and the real attributes in the order of the signature, on all doubles: infinities, NaN
// and -0 as ONNX Runtime has them on the CPU. Booleans are 0 and 1.
using ScalarFunction = double (*)(std::span<const double> operands, std::span<const double> attributes);

// A declaration without one of these parts does not compile.
class FloatEffect {
 public:
  constexpr FloatEffect(FloatWork work_, FloatDomain domain_, FloatError error_, ZeroSign zero_, ScalarFunction scalar_)
      : work(work_), domain(domain_), error(error_), zero(zero_), scalar(scalar_) {}

  FloatWork work;
  FloatDomain domain;
  FloatError error;
  ZeroSign zero;
  ScalarFunction scalar;  // null where the result depends on more, or where ONNX leaves it open for NaN
  FloatRange range = FloatRange::any;

  // Operators that move data: transpose, concat.
  static constexpr FloatEffect moving() { return {FloatWork::moves, FloatDomain::all, FloatError::copies, ZeroSign::ieee, nullptr}; }
  // Operators that compute each element from one element of each operand.
  static constexpr FloatEffect computing(FloatError error, ScalarFunction scalar, FloatDomain domain = FloatDomain::all) {
    return {FloatWork::computes, domain, error, ZeroSign::ieee, scalar};
  }
  // Comparisons, roundings to integers, conversions.
  static constexpr FloatEffect jumping(ScalarFunction scalar) {
    return {FloatWork::jumps, FloatDomain::all, FloatError::own, ZeroSign::ieee, scalar};
  }
  // Operators on booleans.
  static constexpr FloatEffect deciding(ScalarFunction scalar) {
    return {FloatWork::logic, FloatDomain::all, FloatError::own, ZeroSign::ieee, scalar};
  }
  // Sums, means, convolutions, windows.
  static constexpr FloatEffect accumulating(FloatError error) {
    return {FloatWork::accumulates, FloatDomain::all, error, ZeroSign::ieee, nullptr};
  }

  constexpr FloatEffect in(FloatRange known) const {
    FloatEffect result = *this;
    result.range = known;
    return result;
  }

  // True if equal bits in give equal bits out, and nothing is rounded.
  bool exact() const { return work != FloatWork::computes && work != FloatWork::accumulates; }
};

}  // namespace xflow::ops
