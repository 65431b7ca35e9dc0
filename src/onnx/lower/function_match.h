// Finds the graph of an ONNX operator that was lifted to several operators of the IR: the inverse of
// lift_onnx_function.
#pragma once

#include <optional>
#include <vector>

#include "src/ir/graph.h"
#include "src/onnx/lower/may_absorb.h"
#include "src/ops/fused_functions.h"

namespace xflow::onnx_io {

struct FunctionMatch {
  std::vector<ir::ValueId> operands;  // of the ONNX operator
  std::vector<ir::ValueId> absorbed;  // inner values that the operator computes internally
};

// Matches `value` as the result of `function`. Rows with real attributes are not matched. Operands of
// commutative operators may be exchanged. Numbers are compared after rounding to the element type,
// attributes after rounding to float.
std::optional<FunctionMatch> match_function(const ir::Arena& arena, ir::ValueId value, const ops::OnnxFunction& function,
                                            const MayAbsorb& may_absorb);

}  // namespace xflow::onnx_io
