// Rewrites exponentials so that they do not overflow if their quotient is finite. Private to src/eval.
#pragma once

#include "src/ops/expr.h"

namespace xflow::eval {

// Returns the same function of real numbers in the form that runtimes use, for floating-point evaluation:
//   exp(a) / sum(k, exp(b)) = exp(a - m) / sum(k, exp(b - m)),   log(sum(k, exp(b))) = m + log(sum(k, exp(b - m)))   with m = max(k, b)
//   log(1 + exp(a)) = max(a, 0) + log(1 + exp(-|a|))
ops::Expr stabilize(ir::Symbols& symbols, const ops::Expr& expr);

}  // namespace xflow::eval
