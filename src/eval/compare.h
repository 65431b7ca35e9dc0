// The comparison of the outputs of two models, used by `xflow check` and by the validation of each rewritten
// region.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <span>
#include <string>

#include "src/eval/evaluate.h"
#include "src/eval/tensor.h"
#include "src/support/acceptance.h"

namespace xflow::eval {

// B agrees with A if the error of B against A's result in double is at most `own_error_factor` times A's own
// error in float plus `magnitude_factor` times the largest finite magnitude of the output. Where A or B is
// NaN or infinite, B must equal A's result in double or in float. Integers and booleans must equal A's
// result in double or in float. Strings must be equal.
struct Tolerance {
  double own_error_factor = 4;
  double magnitude_factor = 1e-5;
};

// The comparison of one output of B with that of A.
struct Comparison {
  bool agrees = false;
  // Why B does not agree: "shape [2,3] instead of [3,2]", "0.5 instead of 0.25 at [0,1] (allowed: 2.5e-06)".
  std::string reason;
  double error = 0;         // the largest |B - A in double| over elements where both are finite
  double allowed = 0;       // the bound for `error`
  std::uint64_t worst = 0;  // the element with the largest error, or the first one that cannot agree

  // error / allowed, for choosing the worst of several outputs; infinite if an element cannot agree.
  double severity() const;
};

// `reference`: A's output in double. `own`: A's output computed in float; its largest error over the output
// is A's own error. `actual`: B's output.
Comparison compare(const Tensor& reference, const Tensor& own, const Tensor& actual, const Tolerance& tolerance = {});

// Whether the tensors are the outputs of the graph according to the interpreter: "output 1: 0.5 instead of
// 0.25 at [0,1] ..." if not. Errors: those of evaluate.
Result<Acceptance> agree_with_reference(ir::Arena& arena, const ir::Graph& graph, const Bindings& inputs, std::span<const Tensor> outputs);

}  // namespace xflow::eval
