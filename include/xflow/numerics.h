// How exact a result has to be.
#pragma once

#include <xflow/error.h>
#include <xflow/export.h>

#include <cstdint>
#include <string_view>

namespace xflow {

// How rewrites may change floating point results (docs/rules.md, *Floating point*).
enum class Numerics : std::uint8_t {
  exact,     // the same bits of each element
  rounding,  // the same up to rounding where inputs and results are finite
  any,       // infinities and NaN may change as well
};
// Returns "exact", "rounding" or "any".
constexpr const char* to_string(Numerics numerics) {
  switch (numerics) {
    case Numerics::exact:
      return "exact";
    case Numerics::rounding:
      return "rounding";
    case Numerics::any:
      return "any";
  }
  return "";
}
// The inverse of to_string. Errors: invalid_argument for other texts.
XFLOW_API Result<Numerics> parse_numerics(std::string_view text);

}  // namespace xflow
