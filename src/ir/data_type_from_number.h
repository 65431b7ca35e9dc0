// Element types by the numbers that models have for them.
#pragma once

#include <cstdint>

#include "src/ir/type.h"

namespace xflow::ir {

// The element type with this number of ONNX's TensorProto.DataType; undefined for a number that is no type.
inline DataType data_type_from_number(std::int64_t number) {
  return number > 0 && number <= static_cast<std::int64_t>(DataType::int2) ? static_cast<DataType>(number) : DataType::undefined;
}

}  // namespace xflow::ir
