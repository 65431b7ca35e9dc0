#include "src/eval/prime_field.h"

namespace xflow::eval {

bool PrimeField::supports(Function function) {
  switch (function) {
    case Function::negate:
    case Function::reciprocal:
    case Function::add:
    case Function::subtract:
    case Function::multiply:
    case Function::divide:
    case Function::equal:
    case Function::is_nan:
    case Function::choose:
    case Function::logical_and:
    case Function::logical_or:
    case Function::logical_xor:
    case Function::logical_not:
      return true;
    default:
      return false;
  }
}

PrimeField::Number PrimeField::power(Number base, std::uint64_t exponent) const {
  if (base == kUndefinedResidue) return base;
  Number result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = multiply(result, base);
    base = multiply(base, base);
  }
  return result;
}

PrimeField::Number PrimeField::from_double(double value) const {
  if (!std::isfinite(value)) return kUndefinedResidue;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  const Number mantissa = from_integer(static_cast<std::int64_t>(std::ldexp(fraction, 53)));
  exponent -= 53;
  const Number scale = power(2, static_cast<std::uint64_t>(exponent < 0 ? -exponent : exponent));
  return exponent < 0 ? divide(mantissa, scale) : multiply(mantissa, scale);
}

PrimeField::Number PrimeField::from_literal(const ir::Real& value) const {
  if (const auto rational = value.rational()) return from_rational(*rational);
  return from_double(value.to_double());
}

}  // namespace xflow::eval
