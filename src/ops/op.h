// The operators of ops.def by name, for code that treats single ones.
#pragma once

#include <cstdint>

namespace xflow::ops {

// In the order of ops.def, not of ir::OperatorId: `id_of` and Operator::op (operator.h) lead from one to the other.
enum class Op : std::uint8_t {
#define XFLOW_OPERATOR(T) T,
#include "src/ops/ops.def"
#undef XFLOW_OPERATOR
};

}  // namespace xflow::ops
