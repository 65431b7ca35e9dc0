// Constant tensors: typed views over bytes that are read on demand.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/ir/type.h"

namespace xflow::ir {

// The bytes of a constant in the layout of ONNX raw_data (row-major, little-endian, 4-bit types packed).
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual std::uint64_t size() const = 0;
  // All bytes. The first call may map or decode them. The span is valid as long as the source. Error::io if
  // a file cannot be read.
  virtual Result<std::span<const std::byte>> bytes() const = 0;
  // Equal identities mean equal bytes ("file:offset:length"). Empty: compare the bytes instead.
  virtual std::string identity() const { return {}; }
};

std::shared_ptr<const ByteSource> owned_bytes(std::vector<std::byte> bytes);

struct Constant {
  DataType data_type = DataType::undefined;
  std::vector<std::int64_t> dims;
  std::shared_ptr<const ByteSource> source;

  std::uint64_t elements() const;  // product of dims

  // Constants of up to this many elements are compared, typed and matched by value. Larger constants are not
  // read before the end of the search.
  static constexpr std::uint64_t kSmall = 1024;
  bool is_small() const { return elements() <= kSmall; }
};

// All elements as integers (integer types, narrow integers, boolean) or as doubles (the same and floating
// types, widened exactly). Error::unsupported for types without arithmetic. Conversions of int64 to double
// round.
Result<std::vector<std::int64_t>> integers(const Constant& constant);
Result<std::vector<double>> doubles(const Constant& constant);
// A constant of the given type whose elements are the nearest values (ties to even) of that type. Integers
// must fit.
Result<Constant> make_constant(DataType type, std::vector<std::int64_t> dims, std::span<const double> values);
Constant make_integer_constant(DataType type, std::vector<std::int64_t> dims, std::span<const std::int64_t> values);

// Conversions of single elements. Roundings are to nearest, ties to even.
float half_to_float(std::uint16_t bits);
std::uint16_t float_to_half(float value);
float bfloat16_to_float(std::uint16_t bits);
std::uint16_t float_to_bfloat16(float value);

}  // namespace xflow::ir
