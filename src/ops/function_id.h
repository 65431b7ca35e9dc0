// The functions of one operand that run as one kernel: the rows of fused_functions.def.
#pragma once

#include <cstdint>

namespace xflow::ops {

// One value per function, in the order of the table.
enum class FunctionId : std::uint8_t {
#define XFLOW_OPERATOR_FUNCTION(NAME, TYPES, VALUE, LIBRARIES) NAME,
#define XFLOW_FUSED_FUNCTION(NAME, TYPES, GRAPH, VALUE, LIBRARIES) NAME,
#include "src/ops/fused_functions.def"
};

}  // namespace xflow::ops
