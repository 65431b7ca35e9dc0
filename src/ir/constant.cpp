#include "src/ir/constant.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "src/ir/narrow.h"

namespace xflow::ir {
namespace {

class OwnedBytes final : public ByteSource {
 public:
  explicit OwnedBytes(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Result<std::span<const std::byte>> bytes() const override { return std::span<const std::byte>(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

template <typename T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Calls visit(i, element) for each element, widened exactly. Returns false for types without arithmetic.
template <typename Visit>
bool for_each_element(DataType type, const std::byte* data, std::size_t count, const Visit& visit) {
  const auto walk = [&](auto tag) {
    using T = decltype(tag);
    for (std::size_t i = 0; i < count; ++i) visit(i, load<T>(data + i * sizeof(T)));
    return true;
  };
  switch (type) {
    case DataType::float32:
      return walk(float{});
    case DataType::float64:
      return walk(double{});
    case DataType::uint8:
      return walk(std::uint8_t{});
    case DataType::int8:
      return walk(std::int8_t{});
    case DataType::uint16:
      return walk(std::uint16_t{});
    case DataType::int16:
      return walk(std::int16_t{});
    case DataType::uint32:
      return walk(std::uint32_t{});
    case DataType::int32:
      return walk(std::int32_t{});
    case DataType::uint64:
      return walk(std::uint64_t{});
    case DataType::int64:
      return walk(std::int64_t{});
    case DataType::boolean:
      for (std::size_t i = 0; i < count; ++i) visit(i, static_cast<std::uint8_t>(data[i] != std::byte{0} ? 1 : 0));
      return true;
    case DataType::float16:
      for (std::size_t i = 0; i < count; ++i) visit(i, half_to_float(load<std::uint16_t>(data + 2 * i)));
      return true;
    case DataType::bfloat16:
      for (std::size_t i = 0; i < count; ++i) visit(i, bfloat16_to_float(load<std::uint16_t>(data + 2 * i)));
      return true;
    default:
      break;
  }
  if (!is_narrow(type)) return false;
  const auto* bytes = reinterpret_cast<const unsigned char*>(data);
  const bool is_floating = is_narrow_floating(type);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t element = narrow_element(type, bytes, i);
    if (is_floating) visit(i, narrow_to_double(type, static_cast<std::uint8_t>(element)));
    if (!is_floating) visit(i, element);
  }
  return true;
}

Result<std::span<const std::byte>> checked_bytes(const Constant& constant) {
  XFLOW_TRY(const std::span<const std::byte> data, constant.source->bytes());
  const std::uint64_t needed = storage_bytes(constant.data_type, constant.elements());
  if (data.size() < needed)
    return fail(ErrorCode::unreadable, "constant of " + std::to_string(constant.elements()) + " " + std::string(name(constant.data_type)) +
                                           " elements has " + std::to_string(data.size()) + " bytes, expected " + std::to_string(needed));
  return data;
}

template <typename T>
std::vector<std::byte> pack(std::size_t count, const auto& value_at) {
  std::vector<std::byte> bytes(count * sizeof(T));
  for (std::size_t i = 0; i < count; ++i) {
    const T element = static_cast<T>(value_at(i));
    std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof element);
  }
  return bytes;
}

// Rounds a double to float16, ties to even, directly: a conversion to float first would round twice.
std::uint16_t double_to_half(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7E00);
  const double magnitude = std::fabs(value);
  if (magnitude >= 65520.0) return static_cast<std::uint16_t>(sign | 0x7C00);
  if (magnitude == 0) return sign;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const int unit = std::max(exponent - 11, -24);
  const auto steps = static_cast<std::int64_t>(std::nearbyint(std::ldexp(magnitude, -unit)));
  // `steps` is in [0, 2048]. Unit -24 is the spacing of subnormal numbers.
  if (steps < 1024) return static_cast<std::uint16_t>(sign | steps);
  int e = unit + 24 + 1;
  std::int64_t m = steps;
  if (m == 2048) {
    m = 1024;
    ++e;
  }
  return static_cast<std::uint16_t>(sign | (e << 10) | (m - 1024));
}

std::uint16_t double_to_bfloat16(double value) {
  if (std::isnan(value)) return 0x7FC0;
  // Round to odd in float first: its last bit is then a sticky bit for the second rounding.
  float f = static_cast<float>(value);
  if (static_cast<double>(f) != value && std::isfinite(f)) {
    auto b = std::bit_cast<std::uint32_t>(f);
    if (std::fabs(static_cast<double>(f)) > std::fabs(value)) --b;
    b |= 1U;
    f = std::bit_cast<float>(b);
  }
  return float_to_bfloat16(f);
}

}  // namespace

std::shared_ptr<const ByteSource> owned_bytes(std::vector<std::byte> bytes) { return std::make_shared<OwnedBytes>(std::move(bytes)); }

std::uint64_t Constant::elements() const {
  std::uint64_t product = 1;
  for (const std::int64_t d : dims)
    if (__builtin_mul_overflow(product, static_cast<std::uint64_t>(d), &product)) return std::numeric_limits<std::uint64_t>::max();
  return product;
}

Result<std::vector<std::int64_t>> integers(const Constant& constant) {
  if (!is_integer(constant.data_type) && !is_narrow_integer(constant.data_type) && constant.data_type != DataType::boolean)
    return fail(ErrorCode::unsupported, "expected an integer tensor, found " + std::string(name(constant.data_type)));
  XFLOW_TRY(const std::span<const std::byte> data, checked_bytes(constant));
  std::vector<std::int64_t> result(constant.elements());
  // NOLINTNEXTLINE(bugprone-signed-char-misuse): an int8 is a number here, not a character
  const auto keep = [&](std::size_t i, auto v) { result[i] = static_cast<std::int64_t>(v); };
  for_each_element(constant.data_type, data.data(), result.size(), keep);
  return result;
}

Result<std::vector<double>> doubles(const Constant& constant) {
  XFLOW_TRY(const std::span<const std::byte> data, checked_bytes(constant));
  std::vector<double> result(constant.elements());
  if (!for_each_element(constant.data_type, data.data(), result.size(), [&](std::size_t i, auto v) { result[i] = static_cast<double>(v); }))
    return fail(ErrorCode::unsupported, "no arithmetic on " + std::string(name(constant.data_type)));
  return result;
}

Result<Constant> make_constant(DataType type, std::vector<std::int64_t> dims, std::span<const double> values) {
  Constant result{type, std::move(dims), nullptr};
  if (result.elements() != values.size())
    return fail(ErrorCode::invalid_argument,
                "expected " + std::to_string(result.elements()) + " values, found " + std::to_string(values.size()));
  const std::size_t count = values.size();
  if (is_integer(type) || type == DataType::boolean) {
    const int width = bits(type);
    const double low = is_unsigned(type) || type == DataType::boolean ? 0.0 : -std::ldexp(1.0, width - 1);
    const double high = type == DataType::boolean ? 2.0 : std::ldexp(1.0, is_unsigned(type) ? width : width - 1);
    std::vector<std::int64_t> whole(count);
    for (std::size_t i = 0; i < count; ++i) {
      const double v = std::nearbyint(values[i]);
      if (!(v >= low && v < high))
        return fail(ErrorCode::invalid_argument, "value " + std::to_string(values[i]) + " does not fit " + std::string(name(type)));
      whole[i] = is_unsigned(type) ? static_cast<std::int64_t>(static_cast<std::uint64_t>(v)) : static_cast<std::int64_t>(v);
    }
    return make_integer_constant(type, std::move(result.dims), whole);
  }
  switch (type) {
    case DataType::float32:
      result.source = owned_bytes(pack<float>(count, [&](std::size_t i) { return values[i]; }));
      return result;
    case DataType::float64:
      result.source = owned_bytes(pack<double>(count, [&](std::size_t i) { return values[i]; }));
      return result;
    case DataType::float16:
      result.source = owned_bytes(pack<std::uint16_t>(count, [&](std::size_t i) { return double_to_half(values[i]); }));
      return result;
    case DataType::bfloat16:
      result.source = owned_bytes(pack<std::uint16_t>(count, [&](std::size_t i) { return double_to_bfloat16(values[i]); }));
      return result;
    default:
      return fail(ErrorCode::unsupported, "no arithmetic on " + std::string(name(type)));
  }
}

Constant make_integer_constant(DataType type, std::vector<std::int64_t> dims, std::span<const std::int64_t> values) {
  const auto at = [&](std::size_t i) { return values[i]; };
  std::vector<std::byte> bytes;
  switch (bits(type)) {
    case 2:
    case 4: {
      const auto width = static_cast<unsigned>(bits(type));
      bytes.resize(storage_bytes(type, values.size()));
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t bit = i * width;
        const auto element = static_cast<unsigned>(values[i]) & ((1U << width) - 1);
        bytes[bit / 8] |= static_cast<std::byte>(element << (bit % 8));
      }
      break;
    }
    case 8:
      bytes = pack<std::uint8_t>(values.size(), at);
      break;
    case 16:
      bytes = pack<std::uint16_t>(values.size(), at);
      break;
    case 32:
      bytes = pack<std::uint32_t>(values.size(), at);
      break;
    default:
      bytes = pack<std::uint64_t>(values.size(), at);
      break;
  }
  return Constant{type, std::move(dims), owned_bytes(std::move(bytes))};
}

float half_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1FU;
  const std::uint32_t mantissa = bits & 0x3FFU;
  if (exponent == 0) {
    const float value = std::ldexp(static_cast<float>(mantissa), -24);
    return sign != 0 ? -value : value;
  }
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000U | (mantissa << 13));
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

std::uint16_t float_to_half(float value) { return double_to_half(value); }

float bfloat16_to_float(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

std::uint16_t float_to_bfloat16(float value) {
  auto b = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>((b >> 16) | 0x40U);
  b += 0x7FFFU + ((b >> 16) & 1U);
  return static_cast<std::uint16_t>(b >> 16);
}

}  // namespace xflow::ir
