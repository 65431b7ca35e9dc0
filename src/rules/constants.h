// Facts about the elements of a value that are known without running anything.
#pragma once

#include <functional>

#include "src/ir/graph.h"

namespace xflow::rules {

// True if `value` is a small constant, or a filled tensor, and `holds` is true for all of its elements.
bool all_elements(const ir::Arena& arena, ir::ValueId value, const std::function<bool(double)>& holds);

// True if every element of `value` is the value of its data type nearest to `literal`. -0 does not equal 0.
bool is_literal(const ir::Arena& arena, ir::ValueId value, const ir::Real& literal);

// True if `value` is a small stored constant of one dimension whose elements are 0, 1, 2, ...; -0 is
// not 0.
bool counts_up(const ir::Arena& arena, ir::ValueId value);

// True if the attribute `stored` of an operation on elements of `type` is the number `literal`. ONNX stores
// attributes as float32, so the float32 nearest to `literal` matches as well.
bool is_literal(const ir::Real& stored, ir::DataType type, const ir::Real& literal);

}  // namespace xflow::rules
