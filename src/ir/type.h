// Data types, shapes and tensor types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/ir/poly.h"

namespace xflow::ir {

// The element types of ONNX, with the numbers of TensorProto.DataType (onnx 1.22). Float8, 4-bit and 2-bit
// types are stored and copied, never computed with.
enum class DataType : std::uint8_t {
  undefined = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  string = 8,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  complex64 = 14,
  complex128 = 15,
  bfloat16 = 16,
  float8e4m3fn = 17,
  float8e4m3fnuz = 18,
  float8e5m2 = 19,
  float8e5m2fnuz = 20,
  uint4 = 21,
  int4 = 22,
  float4e2m1 = 23,
  float8e8m0 = 24,
  uint2 = 25,
  int2 = 26,
};

std::string_view name(DataType type);                                // "float32"
std::optional<DataType> data_type_from_name(std::string_view name);  // the inverse
int bits(DataType type);                                             // storage of one element; 0 for string and undefined
bool is_floating(DataType type);                                     // float16, bfloat16, float32, float64
bool is_integer(DataType type);                                      // signed and unsigned integers of 8 bits and more; not boolean
bool is_unsigned(DataType type);
int mantissa_bits(DataType type);  // precision of a floating type with the hidden bit (float32: 24); 0 for others
// The storage of `elements` elements in bytes, packed as in ONNX raw_data (two 4-bit elements per byte).
std::uint64_t storage_bytes(DataType type, std::uint64_t elements);

using Shape = std::vector<Poly>;

// An element type and, if the rank is known, a shape.
struct TensorType {
  DataType data_type = DataType::undefined;
  bool ranked = true;
  Shape shape;

  static TensorType unranked(DataType type) { return TensorType{type, false, {}}; }
  std::size_t rank() const { return shape.size(); }  // requires ranked
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

// The product of the dimensions; 1 for a scalar.
Poly element_count(const Shape& shape);
// The dimensions as integers; nothing if one is not a constant.
std::optional<std::vector<std::int64_t>> constant_shape(const Shape& shape);
std::string to_string(const Symbols& symbols, const TensorType& type);  // "float32[N, 3, 2*H]", "float32[...]" if unranked

}  // namespace xflow::ir
