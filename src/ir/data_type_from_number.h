// Element types by their numbers in models.
#pragma once

#include <cstdint>

#include "src/ir/type.h"

namespace xflow::ir {

// The element type with this number in ONNX's TensorProto.DataType; undefined if there is none.
inline DataType data_type_from_number(std::int64_t number) {
  return number > 0 && number <= static_cast<std::int64_t>(DataType::int2) ? static_cast<DataType>(number) : DataType::undefined;
}

}  // namespace xflow::ir
