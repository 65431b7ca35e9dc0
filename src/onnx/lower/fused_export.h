// Finds small graphs of the IR that one ONNX node expresses: the inverse of the compositions that rewrites
// produce.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "src/ir/graph.h"
#include "src/onnx/lower/may_absorb.h"
#include "src/ops/onnx_mapping.h"

namespace xflow::onnx_io {

struct FusedExport {
  std::string_view type;   // of ONNX's own domain
  ops::Exported exported;  // OperandInput counts `operands`
  std::vector<ir::ValueId> operands;
  std::vector<ir::ValueId> absorbed;  // inner values that the node computes internally
};

// Returns the longest match at `value`, or nothing. May add operations (a bias reshaped to a vector) to the
// arena.
std::optional<FusedExport> fused_export(ir::Arena& arena, ir::ValueId value, int opset, const MayAbsorb& may_absorb);
// The same for Gemm(a, b, c) = a b + c, from opset 7. A runtime may add c in another order than MatMul and
// Add do.
std::optional<FusedExport> gemm_export(const ir::Arena& arena, ir::ValueId value, int opset, const MayAbsorb& may_absorb);

}  // namespace xflow::onnx_io
