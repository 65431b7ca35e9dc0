// Numerically stable forms of expressions.
#pragma once

#include "src/ops/expr.h"

namespace xflow::ops {

// An expression that equals `expr` over the reals and avoids needless overflow, for interpreters over
// floating point numbers. Proofs and exact arithmetic use `expr` unchanged. With m the maximum of b over the
// binder of the sum:
//
//   e^a / sum(e^b)  =  e^(a - m) / sum(e^(b - m))        where a is free of the binder
//   log(sum(e^b))   =  m + log(sum(e^(b - m)))
//   log(e^a + 1)    =  max(a, 0) + log(e^-|a| + 1)
Expr stable(ir::Symbols& symbols, const Expr& expr);

}  // namespace xflow::ops
