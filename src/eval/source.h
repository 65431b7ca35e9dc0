// The data that a program reads. Private to src/eval.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>

#include "src/ir/constant.h"
#include "src/ir/type.h"

namespace xflow::eval {

// The storage format of elements: numbers of the arithmetic, int64, or an ONNX type as in a file (unaligned,
// little-endian).
enum class Format : std::uint8_t { number, float64, float32, float16, bfloat16, int64, uint64, int32, uint32, int16, uint16, int8, uint8 };

// An operand or a tensor of an earlier stage.
struct Source {
  const void* data = nullptr;
  Format format = Format::number;
  std::uint64_t count = 0;
};

// The storage format of a constant of this type; nullopt for types without arithmetic.
std::optional<Format> format_of(ir::DataType type);

// Calls use(load), where load(k) returns element k as the double, int64 or uint64 that holds it exactly.
// Does nothing for Format::number.
template <typename Use>
void with_elements(const Source& source, const Use& use) {
  const auto* bytes = static_cast<const unsigned char*>(source.data);
  const auto load = [bytes](auto type, std::int64_t k) {
    using T = decltype(type);
    T value;
    std::memcpy(&value, bytes + k * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    return value;
  };
  switch (source.format) {
    case Format::number:
      break;
    case Format::float64:
      use([&](std::int64_t k) { return load(double{}, k); });
      break;
    case Format::float32:
      use([&](std::int64_t k) { return static_cast<double>(load(float{}, k)); });
      break;
    case Format::float16:
      use([&](std::int64_t k) { return static_cast<double>(ir::half_to_float(load(std::uint16_t{}, k))); });
      break;
    case Format::bfloat16:
      use([&](std::int64_t k) { return static_cast<double>(ir::bfloat16_to_float(load(std::uint16_t{}, k))); });
      break;
    case Format::int64:
      use([&](std::int64_t k) { return load(std::int64_t{}, k); });
      break;
    case Format::uint64:
      use([&](std::int64_t k) { return load(std::uint64_t{}, k); });
      break;
    case Format::int32:
      use([&](std::int64_t k) -> std::int64_t { return load(std::int32_t{}, k); });
      break;
    case Format::uint32:
      use([&](std::int64_t k) -> std::int64_t { return load(std::uint32_t{}, k); });
      break;
    case Format::int16:
      use([&](std::int64_t k) -> std::int64_t { return load(std::int16_t{}, k); });
      break;
    case Format::uint16:
      use([&](std::int64_t k) -> std::int64_t { return load(std::uint16_t{}, k); });
      break;
    case Format::int8:
      use([&](std::int64_t k) -> std::int64_t { return load(std::int8_t{}, k); });
      break;
    case Format::uint8:
      use([&](std::int64_t k) -> std::int64_t { return load(std::uint8_t{}, k); });
      break;
  }
}

}  // namespace xflow::eval
