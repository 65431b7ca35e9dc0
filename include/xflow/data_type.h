// Element types of tensors.
#pragma once

#include <cstdint>

namespace xflow {

// Element types, with the numbers of ONNX's TensorProto.DataType. Models may contain other types of ONNX.
// Graphs built in code use the types below.
enum class DataType : std::uint8_t {
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  bfloat16 = 16,
};

}  // namespace xflow
