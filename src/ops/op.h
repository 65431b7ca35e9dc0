// The operators of ops.def by name, for code that names single operators.
#pragma once

#include <cstdint>

namespace xflow::ops {

// In the order of ops.def, which is not that of ir::OperatorId. `id_of` and Operator::op (operator.h)
// convert between them.
enum class Op : std::uint8_t {
#define XFLOW_OPERATOR(T) T,
#include "src/ops/ops.def"
#undef XFLOW_OPERATOR
};

}  // namespace xflow::ops
