// The effect of an operator on floating point numbers. The float class of a rule follows from the effects
// that its operators declare.
#pragma once

#include <cstdint>
#include <span>

namespace xflow::ops {

// How an operator computes an output element.
enum class FloatWork : std::uint8_t {
  moves,       // copies an element of an operand that is not an index
  fills,       // as moves, or writes the attribute "value", or 0 if the operator has no such attribute
  makes,       // reads no floating operand: the value comes from attributes, shapes or indices
  selects,     // copies an element of an operand, chosen by a boolean
  logic,       // a boolean function of booleans
  chooses,     // no rounding: copies or negates a number, chosen by comparing numbers
  jumps,       // no rounding, but discontinuous: rounding an operand can change the result by a step
  computes,    // a rounded function of one element of each operand
  accumulates  // a rounded function of many elements, in no defined order
};

// The finite operands of ordinary size for which the result is finite.
enum class FloatDomain : std::uint8_t {
  all,              // sums and products overflow only near the largest number
  nonzero_divisor,  // the last operand is not 0
  positive,         // logarithms
  nonnegative,      // roots
  bounded_above,    // exponentials
  power             // operand 0 to the power of operand 1
};

// How errors of the operands propagate to the result, and how large the result is.
enum class FloatError : std::uint8_t {
  copies,      // as large as each operand: moved or negated
  chooses,     // one of the operands or a constant: as large as the result, and no error of the others
  adds,        // sum or difference: as large as the operands, but terms can cancel
  multiplies,  // product of operands 0 and 1
  contracts,   // sum of products of elements of operands 0 and 1, plus any further operand
  divides,     // operand 0 / operand 1
  inverts,     // 1 / operand 0
  continuous,  // at most as large as the operands and 1, with slopes of the order of 1
  saturates,   // a sum of the operand and a constant, or a constant bound
  bounded,     // at most of the order of 1, with slopes of the order of 1; its rounding error is relative to the result
  own          // any other function
};

// The sign of a result that is 0.
enum class ZeroSign : std::uint8_t {
  ieee,        // the sign that IEEE 754 defines
  by_runtime,  // ONNX does not define it; ONNX Runtime keeps the sign of a 0 in operand 0
  either       // ONNX does not define it and runtimes differ
};

// The range of the result for all operands.
enum class FloatRange : std::uint8_t {
  any,
  of_operands,      // between the smallest and the largest operand
  nonnegative,      // [0, inf]
  unit,             // [0, 1]
  symmetric,        // [-1, 1]
  at_least_operand  // at least each element of operand 0 that the result is computed from
};

// The result for one element of each operand and the real attributes in the order of the signature. Defined
// for all doubles: infinities, NaN and -0 behave as in ONNX Runtime on the CPU. Booleans are 0 and 1.
using ScalarFunction = double (*)(std::span<const double> operands, std::span<const double> attributes);

// The effect of one operator. The constructor requires every part but the range and the growth, which
// in() and increasing() set. Without them nothing is known.
class FloatEffect {
 public:
  constexpr FloatEffect(FloatWork work_, FloatDomain domain_, FloatError error_, ZeroSign zero_, ScalarFunction scalar_)
      : work(work_), domain(domain_), error(error_), zero(zero_), scalar(scalar_) {}

  FloatWork work;
  FloatDomain domain;
  FloatError error;
  ZeroSign zero;
  ScalarFunction scalar;  // null if the result depends on more, or if ONNX does not define it for NaN
  FloatRange range = FloatRange::any;
  bool increases = false;  // for positive operands, the result increases with each element, and reads none twice

  // The effect of operators that move data: transpose, concat.
  static constexpr FloatEffect moving() { return {FloatWork::moves, FloatDomain::all, FloatError::copies, ZeroSign::ieee, nullptr}; }
  // The effect of operators that compute each element from one element of each operand.
  static constexpr FloatEffect computing(FloatError error, ScalarFunction scalar, FloatDomain domain = FloatDomain::all) {
    return {FloatWork::computes, domain, error, ZeroSign::ieee, scalar};
  }
  // The effect of comparisons, roundings to integers and conversions.
  static constexpr FloatEffect jumping(ScalarFunction scalar) {
    return {FloatWork::jumps, FloatDomain::all, FloatError::own, ZeroSign::ieee, scalar};
  }
  // The effect of operators on booleans.
  static constexpr FloatEffect deciding(ScalarFunction scalar) {
    return {FloatWork::logic, FloatDomain::all, FloatError::own, ZeroSign::ieee, scalar};
  }
  // The effect of sums, means, convolutions and windows.
  static constexpr FloatEffect accumulating(FloatError error) {
    return {FloatWork::accumulates, FloatDomain::all, error, ZeroSign::ieee, nullptr};
  }

  constexpr FloatEffect in(FloatRange known) const {
    FloatEffect result = *this;
    result.range = known;
    return result;
  }

  constexpr FloatEffect increasing() const {
    FloatEffect result = *this;
    result.increases = true;
    return result;
  }

  // True if the operator rounds nothing, so that equal input bits give equal output bits.
  bool exact() const { return work != FloatWork::computes && work != FloatWork::accumulates; }
};

}  // namespace xflow::ops
