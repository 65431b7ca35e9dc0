#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <cstdint>
#include <limits>

#include "src/eval/npz.h"

namespace xflow::eval {
namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::uint32_t kCentralHeader = 0x02014b50;
constexpr std::uint32_t kEndOfCentral = 0x06054b50;
constexpr std::uint16_t kVersion = 20;   // of the reader that is needed
constexpr std::uint16_t kFirstDay = 33;  // the 1st of January 1980, so that equal arrays give equal bytes
constexpr std::uint16_t kUtf8Names = 0x800;

template <typename T>
void put(std::string& out, T value) {
  for (std::size_t k = 0; k < sizeof(T); ++k) out += static_cast<char>(value >> (8 * k));
}

const char* descr_of(ir::DataType type) {
  switch (type) {
    case ir::DataType::float32:
      return "<f4";
    case ir::DataType::float64:
      return "<f8";
    case ir::DataType::float16:
      return "<f2";
    case ir::DataType::int8:
      return "|i1";
    case ir::DataType::int16:
      return "<i2";
    case ir::DataType::int32:
      return "<i4";
    case ir::DataType::int64:
      return "<i8";
    case ir::DataType::uint8:
      return "|u1";
    case ir::DataType::uint16:
      return "<u2";
    case ir::DataType::uint32:
      return "<u4";
    case ir::DataType::uint64:
      return "<u8";
    case ir::DataType::boolean:
      return "|b1";
    default:
      return nullptr;
  }
}

// The header of a .npy file, version 1.0, whose size is a multiple of 64.
std::string npy_header(const char* descr, std::span<const std::int64_t> dims) {
  std::string shape;
  for (const std::int64_t dim : dims) shape += fmt::format("{}, ", dim);
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  constexpr std::size_t kBefore = 10;
  constexpr std::size_t kAlignment = 64;
  while ((kBefore + text.size() + 1) % kAlignment != 0) text += ' ';
  std::string header("\x93NUMPY\x01\x00", 8);
  put(header, static_cast<std::uint16_t>(text.size() + 1));
  return header + text + '\n';
}

// Fields that the header of an entry and the central directory have in common.
void put_entry(std::string& out, std::uint32_t crc, std::uint32_t size, std::size_t name) {
  put(out, kUtf8Names);
  put(out, std::uint16_t{0});  // stored
  put(out, std::uint16_t{0});  // time
  put(out, kFirstDay);
  put(out, crc);
  put(out, size);
  put(out, size);
  put(out, static_cast<std::uint16_t>(name));
  put(out, std::uint16_t{0});  // extra field
}

std::uint32_t crc_of(std::uint32_t before, std::string_view bytes) {
  // For no bytes at a null address, zlib returns that of an empty file.
  if (bytes.empty()) return before;
  return static_cast<std::uint32_t>(crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

Result<std::string> write_npz(std::span<const NpzArray> arrays) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  std::string out;
  std::string central;
  for (const NpzArray& array : arrays) {
    const char* descr = descr_of(array.data_type);
    if (descr == nullptr)
      return fail(ErrorCode::unsupported, fmt::format("NumPy has no type {}, which array '{}' has", ir::name(array.data_type), array.name));
    const std::string header = npy_header(descr, array.dims);
    const std::string name = array.name + ".npy";
    if (out.size() + header.size() + name.size() + array.bytes.size() + central.size() > kMost / 2 ||
        name.size() > std::numeric_limits<std::uint16_t>::max())
      return fail(ErrorCode::unsupported, "an archive of 2 GiB and more is not written");
    const std::uint32_t crc = crc_of(crc_of(0, header), array.bytes);
    const auto size = static_cast<std::uint32_t>(header.size() + array.bytes.size());
    put(central, kCentralHeader);
    put(central, kVersion);
    put(central, kVersion);
    put_entry(central, crc, size, name.size());
    put(central, std::uint16_t{0});  // comment
    put(central, std::uint16_t{0});  // disk
    put(central, std::uint16_t{0});  // internal attributes
    put(central, std::uint32_t{0});  // external attributes
    put(central, static_cast<std::uint32_t>(out.size()));
    central += name;
    put(out, kLocalHeader);
    put(out, kVersion);
    put_entry(out, crc, size, name.size());
    out += name;
    out += header;
    out += array.bytes;
  }
  const auto begin = static_cast<std::uint32_t>(out.size());
  out += central;
  put(out, kEndOfCentral);
  put(out, std::uint32_t{0});  // disks
  put(out, static_cast<std::uint16_t>(arrays.size()));
  put(out, static_cast<std::uint16_t>(arrays.size()));
  put(out, static_cast<std::uint32_t>(central.size()));
  put(out, begin);
  put(out, std::uint16_t{0});  // comment
  return out;
}

}  // namespace xflow::eval
