// When two models compute the same: the rule of `xflow check`, and of the test of each rewritten region.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <span>
#include <string>

#include "src/eval/evaluate.h"
#include "src/eval/tensor.h"

namespace xflow::eval {

// B agrees with A if B's error against A's double-precision result is at most `own_error_factor` times A's own error in float plus
// `magnitude_factor` times the largest finite magnitude of the output; it is NaN where A is NaN and infinite where A is; integers
// and booleans are what A has in double or in float, strings are equal.
struct Tolerance {
  double own_error_factor = 4;
  double magnitude_factor = 1e-5;
};

// How one output of B compares with that of A.
struct Comparison {
  bool agrees = false;
  std::string reason;       // where it does not: "shape [2,3] instead of [3,2]", "0.5 instead of 0.25 at [0,1] (allowed: 2.5e-06)"
  double error = 0;         // the largest |B - A in double| over elements where both are finite
  double allowed = 0;       // what `error` may be
  std::uint64_t worst = 0;  // the element with the largest error, or the first one that cannot agree

  // error / allowed, for choosing the worst of several outputs; infinite where an element cannot agree.
  double severity() const;
};

// `reference`: A's output in double. `own`: the same output computed in float, for A's own error, which is the largest over the output.
// `actual`: B's output.
Comparison compare(const Tensor& reference, const Tensor& own, const Tensor& actual, const Tolerance& tolerance = {});

// Why these are not the outputs of a graph, as the interpreter has them: "output 1: 0.5 instead of 0.25 at [0,1] ..."; empty if they are.
// Errors: those of evaluate.
Result<std::string> difference_from_reference(ir::Arena& arena, const ir::Graph& graph, const Bindings& inputs,
                                              std::span<const Tensor> outputs);

}  // namespace xflow::eval
