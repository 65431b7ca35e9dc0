// Finds the graph of an ONNX operator that is several operators of the IR: the inverse of lift_onnx_function.
#pragma once

#include <optional>
#include <vector>

#include "src/ir/graph.h"
#include "src/onnx/lower/may_absorb.h"
#include "src/ops/fused_functions.h"

namespace xflow::onnx_io {

struct FunctionMatch {
  std::vector<ir::ValueId> operands;  // of the ONNX operator
  std::vector<ir::ValueId> absorbed;  // inner values that it computes without showing them
};

// `value` as the result of `function`, a row without real attributes (others are not looked for). Operands of
// commutative operators stand in any order; numbers are equal when rounded to the element type, attributes
// when rounded to float.
std::optional<FunctionMatch> match_function(const ir::Arena& arena, ir::ValueId value, const ops::OnnxFunction& function,
                                            const MayAbsorb& may_absorb);

}  // namespace xflow::onnx_io
