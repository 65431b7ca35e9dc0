#include "src/onnx/document/wire.h"

#include <cstring>

namespace xflow::onnx_io {

namespace {

constexpr std::uint64_t kLargestFieldNumber = (std::uint64_t{1} << 29) - 1;

std::uint64_t little_endian(const char* bytes, int count) {
  std::uint64_t value = 0;
  for (int i = 0; i < count; ++i) value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return value;
}

}  // namespace

bool WireReader::stop(WireFault fault) {
  fault_ = fault;
  at_ = end_;
  return false;
}

bool WireReader::varint(std::uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (at_ == end_) return stop(WireFault::cut_varint);
    const auto byte = static_cast<unsigned char>(*at_++);
    if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return true;
  }
  return stop(WireFault::long_varint);
}

bool WireReader::tag(WireField& field) {
  std::uint64_t tag = 0;
  if (!varint(tag)) return false;
  const std::uint64_t number = tag >> 3;
  const auto type = static_cast<unsigned>(tag & 7);
  if (number == 0 || number > kLargestFieldNumber || type > 5) return stop(WireFault::bad_tag);
  field.number = static_cast<std::uint32_t>(number);
  field.type = static_cast<WireType>(type);
  return true;
}

// Reads the part after the tag, for any field but a group.
bool WireReader::body(WireField& field) {
  const char* start = at_;
  const auto left = static_cast<std::uint64_t>(end_ - at_);
  std::uint64_t length = 0;
  field.value = 0;
  switch (field.type) {
    case WireType::varint:
      if (!varint(field.value)) return false;
      field.payload = std::string_view(start, static_cast<std::size_t>(at_ - start));
      return true;
    case WireType::fixed64:
    case WireType::fixed32:
      length = field.type == WireType::fixed64 ? 8 : 4;
      break;
    case WireType::length_delimited:
      if (!varint(length)) return false;
      start = at_;
      break;
    default:
      return stop(WireFault::unexpected_end);
  }
  const auto available = static_cast<std::uint64_t>(end_ - start);
  if (length > available) {
    needed_ = length;
    left_ = field.type == WireType::length_delimited ? available : left;
    return stop(WireFault::past_end);
  }
  if (field.type != WireType::length_delimited) field.value = little_endian(start, static_cast<int>(length));
  at_ = start + length;
  field.payload = std::string_view(start, static_cast<std::size_t>(length));
  return true;
}

bool WireReader::skip_group(WireField& field) {
  const char* start = at_;
  std::vector<std::uint32_t> open{field.number};
  WireField inner;
  while (!open.empty()) {
    if (at_ == end_) return stop(WireFault::open_group);
    const char* inner_start = at_;
    if (!tag(inner)) return false;
    if (inner.type == WireType::start_group) {
      open.push_back(inner.number);
    } else if (inner.type == WireType::end_group) {
      if (inner.number != open.back()) return stop(WireFault::unexpected_end);
      open.pop_back();
      field.payload = std::string_view(start, static_cast<std::size_t>(inner_start - start));
    } else if (!body(inner)) {
      return false;
    }
  }
  field.value = 0;
  return true;
}

bool WireReader::next(WireField& field) {
  if (at_ == end_) return false;
  const char* start = at_;
  const bool read = tag(field) && (field.type == WireType::start_group ? skip_group(field) : body(field));
  if (!read) {
    fault_offset_ = static_cast<std::uint64_t>(start - begin_);
    fault_field_ = field;
    return false;
  }
  field.whole = std::string_view(start, static_cast<std::size_t>(at_ - start));
  return true;
}

std::string WireReader::fault_text() const {
  switch (fault_) {
    case WireFault::none:
      return "no fault";
    case WireFault::cut_varint:
      return "a truncated number";
    case WireFault::long_varint:
      return "a number of more than 10 bytes";
    case WireFault::bad_tag:
      return "an invalid field tag";
    case WireFault::past_end:
      return "a field of " + std::to_string(needed_) + " bytes where " + std::to_string(left_) + " are left";
    case WireFault::open_group:
      return "a group without an end";
    case WireFault::unexpected_end:
      return "the end of a group that was not opened";
  }
  return "an unknown fault";
}

bool append_varints(const WireField& field, std::vector<std::int64_t>& out) {
  if (field.type == WireType::varint) {
    out.push_back(static_cast<std::int64_t>(field.value));
    return true;
  }
  if (field.type != WireType::length_delimited) return true;
  const char* at = field.payload.data();
  const char* end = at + field.payload.size();
  while (at != end) {
    std::uint64_t value = 0;
    int shift = 0;
    unsigned char byte = 0x80;
    while (byte >= 0x80) {
      if (at == end || shift >= 70) return false;
      byte = static_cast<unsigned char>(*at++);
      if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
      shift += 7;
    }
    out.push_back(static_cast<std::int64_t>(value));
  }
  return true;
}

bool append_fixed32(const WireField& field, std::vector<std::uint32_t>& out) {
  if (field.type != WireType::fixed32 && field.type != WireType::length_delimited) return true;
  if (field.payload.size() % 4 != 0) return false;
  for (std::size_t i = 0; i < field.payload.size(); i += 4) {
    out.push_back(static_cast<std::uint32_t>(little_endian(field.payload.data() + i, 4)));
  }
  return true;
}

bool append_fixed64(const WireField& field, std::vector<std::uint64_t>& out) {
  if (field.type != WireType::fixed64 && field.type != WireType::length_delimited) return true;
  if (field.payload.size() % 8 != 0) return false;
  for (std::size_t i = 0; i < field.payload.size(); i += 8) out.push_back(little_endian(field.payload.data() + i, 8));
  return true;
}

int varint_size(std::uint64_t value) {
  int size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

void WireWriter::number(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<char>((value & 0x7f) | 0x80));
  out_.push_back(static_cast<char>(value));
}

WireWriter& WireWriter::varint(std::uint32_t field, std::int64_t value) {
  number(std::uint64_t{field} << 3);
  number(static_cast<std::uint64_t>(value));
  return *this;
}

WireWriter& WireWriter::fixed32(std::uint32_t field, float value) {
  number(std::uint64_t{field} << 3 | 5);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  for (int i = 0; i < 4; ++i) out_.push_back(static_cast<char>(bits >> (8 * i) & 0xff));
  return *this;
}

WireWriter& WireWriter::fixed64(std::uint32_t field, double value) {
  number(std::uint64_t{field} << 3 | 1);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  for (int i = 0; i < 8; ++i) out_.push_back(static_cast<char>(bits >> (8 * i) & 0xff));
  return *this;
}

WireWriter& WireWriter::header(std::uint32_t field, std::uint64_t length) {
  number(std::uint64_t{field} << 3 | 2);
  number(length);
  return *this;
}

WireWriter& WireWriter::bytes(std::uint32_t field, std::string_view payload) { return header(field, payload.size()).raw(payload); }

WireWriter& WireWriter::raw(std::string_view encoded) {
  out_.append(encoded);
  return *this;
}

WireWriter& WireWriter::packed_varints(std::uint32_t field, const std::vector<std::int64_t>& values) {
  std::uint64_t length = 0;
  for (const std::int64_t value : values) length += static_cast<std::uint64_t>(varint_size(static_cast<std::uint64_t>(value)));
  header(field, length);
  for (const std::int64_t value : values) number(static_cast<std::uint64_t>(value));
  return *this;
}

}  // namespace xflow::onnx_io
