// Storage-only number types: integers of 2 and 4 bits, floating types of 4 and 8 bits. Values are converted
// to a wider type before any arithmetic.
//
// Sources: ONNX IR specification, "Float stored in 8 bits" and "Float4"; OCP Microscaling formats 1.0.
// float8e8m0 is not supported.
#pragma once

#include <cstdint>

#include "src/ir/type.h"

namespace xflow::ir {

bool is_narrow_integer(DataType type);   // uint4, int4, uint2, int2
bool is_narrow_floating(DataType type);  // float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, float4e2m1
inline bool is_narrow(DataType type) { return is_narrow_integer(type) || is_narrow_floating(type); }

// The value of the low bits of `bits` in a narrow floating type.
double narrow_to_double(DataType type, std::uint8_t bits);
// The bits of the nearest number of a narrow floating type, ties to even. Saturates: magnitudes above the
// largest number, including infinity, become the largest number. NaN stays NaN; in float4e2m1, which has no
// NaN, it becomes the largest number.
std::uint8_t double_to_narrow(DataType type, double value);

// The low bits of `value` as a narrow integer.
std::int64_t wrap_narrow(DataType type, std::int64_t value);
// Element `k` of packed elements: the value of an integer type, the bits of a floating type.
std::int64_t narrow_element(DataType type, const unsigned char* bytes, std::uint64_t k);

}  // namespace xflow::ir
