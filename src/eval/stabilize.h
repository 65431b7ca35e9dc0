// Exponentials that do not overflow where their quotient is an ordinary number. Private to src/eval.
#pragma once

#include "src/ops/expr.h"

namespace xflow::eval {

// The same function of real numbers, written as every runtime computes it, for floating-point evaluation:
//   exp(a) / sum(k, exp(b)) = exp(a - m) / sum(k, exp(b - m)),   log(sum(k, exp(b))) = m + log(sum(k, exp(b - m)))   with m = max(k, b)
//   log(1 + exp(a)) = max(a, 0) + log(1 + exp(-|a|))
ops::Expr stabilize(ir::Symbols& symbols, const ops::Expr& expr);

}  // namespace xflow::eval
