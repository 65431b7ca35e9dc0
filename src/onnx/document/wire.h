// The protobuf wire format, read and written over byte views
// (https://protobuf.dev/programming-guides/encoding).
//
// xflow has its own reader for two reasons. protobuf's reader stops at 32 nested messages on common
// settings. It also cannot return the bytes of one field: it parses and re-serialises, which changes legal
// messages whose fields come in another order, are packed, or are unknown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace xflow::onnx_io {

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, length_delimited = 2, start_group = 3, end_group = 4, fixed32 = 5 };

// One field of a message.
struct WireField {
  std::uint32_t number = 0;
  WireType type = WireType::varint;
  std::uint64_t value = 0;  // varint: its value; fixed32 and fixed64: the little-endian bits; otherwise 0
  // Length-delimited: the bytes after the length; group: the bytes between its tags; otherwise: the encoded
  // number.
  std::string_view payload;
  std::string_view whole;  // the field with its tag

  bool is_bytes(std::uint32_t field) const { return number == field && type == WireType::length_delimited; }
  bool is_varint(std::uint32_t field) const { return number == field && type == WireType::varint; }
};

// The faults of a message.
enum class WireFault {
  none,
  cut_varint,      // the message ends inside a number
  long_varint,     // a number takes more than 10 bytes
  bad_tag,         // field number 0, a field number over 2^29 - 1, or an unknown wire type
  past_end,        // a field is longer than the rest of the message
  open_group,      // a group has no end
  unexpected_end,  // the end of a group that was not opened
};

// Iterates over the fields of one message. A nested message is a length-delimited payload that the caller
// reads with another reader, so nesting needs no stack. Groups (deprecated, unused by ONNX) are skipped with
// a stack on the heap.
class WireReader {
 public:
  explicit WireReader(std::string_view message) : begin_(message.data()), at_(message.data()), end_(message.data() + message.size()) {}

  // Reads the next field. Returns false at the end of the message and at a fault.
  bool next(WireField& field);

  WireFault fault() const { return fault_; }
  std::uint64_t fault_offset() const { return fault_offset_; }   // bytes from the start of the message to the faulty field
  const WireField& fault_field() const { return fault_field_; }  // its number and type, as far as they were read
  // "a field of 10 bytes where 3 are left"
  std::string fault_text() const;

 private:
  bool varint(std::uint64_t& value);
  bool tag(WireField& field);
  bool body(WireField& field);
  bool skip_group(WireField& field);
  bool stop(WireFault fault);

  const char* begin_;
  const char* at_;
  const char* end_;
  WireFault fault_ = WireFault::none;
  std::uint64_t fault_offset_ = 0;
  std::uint64_t needed_ = 0;
  std::uint64_t left_ = 0;
  WireField fault_field_;
};

// Appends the numbers of a repeated field, packed (length-delimited) or not (one number per field). A field
// of another wire type is unknown, as in protobuf, and adds nothing. Returns false if a packed payload is
// truncated.
bool append_varints(const WireField& field, std::vector<std::int64_t>& out);
bool append_fixed32(const WireField& field, std::vector<std::uint32_t>& out);
bool append_fixed64(const WireField& field, std::vector<std::uint64_t>& out);

// Returns the number of bytes of a varint.
int varint_size(std::uint64_t value);

// Appends fields to a message.
class WireWriter {
 public:
  WireWriter& varint(std::uint32_t number, std::int64_t value);
  WireWriter& fixed32(std::uint32_t number, float value);
  WireWriter& fixed64(std::uint32_t number, double value);
  WireWriter& bytes(std::uint32_t number, std::string_view payload);  // a string or a nested message
  WireWriter& raw(std::string_view encoded);                          // bytes that are encoded already
  WireWriter& packed_varints(std::uint32_t number, const std::vector<std::int64_t>& values);
  // Appends the tag and the length of a length-delimited field; the caller appends the payload.
  WireWriter& header(std::uint32_t number, std::uint64_t length);

  const std::string& view() const { return out_; }
  std::string take() { return std::move(out_); }

 private:
  void number(std::uint64_t value);

  std::string out_;
};

}  // namespace xflow::onnx_io
