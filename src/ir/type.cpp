#include "src/ir/type.h"

#include <array>

namespace xflow::ir {
namespace {

struct DataTypeRow {
  std::string_view name;
  int bits;
  int mantissa_bits;
};

// In the order of the ONNX numbers.
constexpr std::array<DataTypeRow, 27> kDataTypes = {{
    {"undefined", 0, 0},      {"float32", 32, 24}, {"uint8", 8, 0},        {"int8", 8, 0},           {"uint16", 16, 0},
    {"int16", 16, 0},         {"int32", 32, 0},    {"int64", 64, 0},       {"string", 0, 0},         {"bool", 8, 0},
    {"float16", 16, 11},      {"float64", 64, 53}, {"uint32", 32, 0},      {"uint64", 64, 0},        {"complex64", 64, 0},
    {"complex128", 128, 0},   {"bfloat16", 16, 8}, {"float8e4m3fn", 8, 0}, {"float8e4m3fnuz", 8, 0}, {"float8e5m2", 8, 0},
    {"float8e5m2fnuz", 8, 0}, {"uint4", 4, 0},     {"int4", 4, 0},         {"float4e2m1", 4, 0},     {"float8e8m0", 8, 0},
    {"uint2", 2, 0},          {"int2", 2, 0},
}};

const DataTypeRow& row(DataType type) {
  const auto i = static_cast<std::size_t>(type);
  return kDataTypes[i < kDataTypes.size() ? i : 0];
}

}  // namespace

std::string_view name(DataType type) { return row(type).name; }

std::optional<DataType> data_type_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kDataTypes.size(); ++i)
    if (kDataTypes[i].name == name) return static_cast<DataType>(i);
  return std::nullopt;
}

int bits(DataType type) { return row(type).bits; }

bool is_floating(DataType type) { return row(type).mantissa_bits > 0; }

bool is_integer(DataType type) {
  switch (type) {
    case DataType::uint8:
    case DataType::int8:
    case DataType::uint16:
    case DataType::int16:
    case DataType::int32:
    case DataType::int64:
    case DataType::uint32:
    case DataType::uint64:
      return true;
    default:
      return false;
  }
}

bool is_unsigned(DataType type) {
  return type == DataType::uint8 || type == DataType::uint16 || type == DataType::uint32 || type == DataType::uint64 ||
         type == DataType::uint4 || type == DataType::uint2;
}

int mantissa_bits(DataType type) { return row(type).mantissa_bits; }

std::uint64_t storage_bytes(DataType type, std::uint64_t elements) { return (elements * static_cast<std::uint64_t>(bits(type)) + 7) / 8; }

Poly element_count(const Shape& shape) {
  Poly product(1);
  for (const Poly& d : shape) product *= d;
  return product;
}

std::optional<std::vector<std::int64_t>> constant_shape(const Shape& shape) {
  std::vector<std::int64_t> result;
  for (const Poly& d : shape) {
    const auto c = d.constant();
    if (!c) return std::nullopt;
    result.push_back(*c);
  }
  return result;
}

std::string to_string(const Symbols& symbols, const TensorType& type) {
  const std::string base(name(type.data_type));
  return type.ranked ? base + symbols.to_string(type.shape) : base + "[...]";
}

}  // namespace xflow::ir
