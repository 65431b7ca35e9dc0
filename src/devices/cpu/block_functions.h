// Pointwise operators on blocks of contiguous elements, vectorised by the compiler.
#pragma once

#include <cstddef>
#include <optional>

#include "src/ir/type.h"
#include "src/ops/kernel_spec.h"

namespace xflow::cost::cpu {

// out[i] = f(operands[0][i], operands[1][i], ...) for n elements. `reals` are the operator's real attributes.
using BlockFunction = void (*)(const void* const* operands, void* out, std::size_t n, const double* reals);

struct BlockOperator {
  BlockFunction function = nullptr;
  int operands = 1;
  int reals = 0;
  ir::DataType result = ir::DataType::undefined;
};

// The operator for operands of element type `type` (of select: that of the values chosen from). `result` matters to cast alone.
// Nothing where there is none. Functions of float32 have an absolute or relative error of a few 1e-7.
std::optional<BlockOperator> find_block_operator(const ops::StepFunction& step, ir::DataType type, ir::DataType result);

}  // namespace xflow::cost::cpu
