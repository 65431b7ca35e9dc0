// Pointwise operators on blocks of contiguous elements; the compiler vectorises them.
#pragma once

#include <cstddef>
#include <optional>

#include "src/ir/type.h"
#include "src/ops/kernel_spec.h"

namespace xflow::cost::cpu {

// Computes out[i] = f(operands[0][i], operands[1][i], ...) for n elements. `reals`: the operator's real
// attributes.
using BlockFunction = void (*)(const void* const* operands, void* out, std::size_t n, const double* reals);

struct BlockOperator {
  BlockFunction function = nullptr;
  int operands = 1;
  int reals = 0;
  ir::DataType result = ir::DataType::undefined;
};

// Finds the block function for operands of element type `type` (for select: the type of the chosen values).
// `result` is used for cast only. Returns nothing if there is none. Functions of float32 have an absolute or
// relative error of a few 1e-7.
std::optional<BlockOperator> find_block_operator(const ops::StepFunction& step, ir::DataType type, ir::DataType result);

}  // namespace xflow::cost::cpu
