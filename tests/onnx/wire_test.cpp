#include "src/onnx/document/wire.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace xflow::onnx_io {
namespace {

using std::string_literals::operator""s;

std::string fault_of(std::string_view message) {
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
  }
  return reader.fault_text() + " at " + std::to_string(reader.fault_offset());
}

TEST(WireReader, ReadsBackWhatWireWriterWrites) {
  const std::string message = WireWriter().varint(1, -1).varint(300, 1).fixed32(2, 1.0F).fixed64(3, 1.0).bytes(4, "text").take();
  WireReader reader(message);
  WireField field;
  ASSERT_TRUE(reader.next(field));
  EXPECT_TRUE(field.is_varint(1));
  EXPECT_EQ(static_cast<std::int64_t>(field.value), -1);
  ASSERT_TRUE(reader.next(field));
  EXPECT_TRUE(field.is_varint(300));
  EXPECT_EQ(field.whole.size(), 3U);
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.type, WireType::fixed32);
  EXPECT_EQ(field.value, 0x3f800000U);
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.value, 0x3ff0000000000000U);
  ASSERT_TRUE(reader.next(field));
  EXPECT_TRUE(field.is_bytes(4));
  EXPECT_EQ(field.payload, "text");
  EXPECT_EQ(field.whole, "\x22\x04text");
  EXPECT_FALSE(reader.next(field));
  EXPECT_EQ(reader.fault(), WireFault::none);
}

TEST(WireReader, KeepsAGroupAsOneField) {
  const std::string message = "\x0b\x10\x05\x1b\x1c\x0c\x08\x01";  // group 1 { 2: 5, group 3 {} }, 1: 1
  WireReader reader(message);
  WireField field;
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.type, WireType::start_group);
  EXPECT_EQ(field.whole, message.substr(0, 6));
  EXPECT_EQ(field.payload, message.substr(1, 4));
  ASSERT_TRUE(reader.next(field));
  EXPECT_TRUE(field.is_varint(1));
  EXPECT_FALSE(reader.next(field));
}

TEST(WireReader, SkipsGroupsOfAnyDepth) {
  constexpr std::size_t kDepth = 1000000;
  const std::string message = std::string(kDepth, '\x0b') + std::string(kDepth, '\x0c');
  EXPECT_EQ(fault_of(message), "no fault at 0");
  EXPECT_EQ(fault_of(message.substr(1)), "the end of a group that was not opened at " + std::to_string(2 * kDepth - 2));
  EXPECT_EQ(fault_of(message.substr(0, 2 * kDepth - 1)), "a group without an end at 0");
}

TEST(WireReader, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(fault_of("\x08\x01\x12\x0a"
                     "abc"),
            "a field of 10 bytes where 3 are left at 2");
  EXPECT_EQ(fault_of("\x08\x01\x0d\x01\x02"), "a field of 4 bytes where 2 are left at 2");
  EXPECT_EQ(fault_of("\x08\x80"), "a truncated number at 0");
  EXPECT_EQ(fault_of("\x08" + std::string(10, '\x80') + "\x01"), "a number of more than 10 bytes at 0");
  EXPECT_EQ(fault_of("\x00\x01"s), "an invalid field tag at 0");
  EXPECT_EQ(fault_of("\x0f"), "an invalid field tag at 0");
  EXPECT_EQ(fault_of("\x0b\x14"), "the end of a group that was not opened at 0");
}

TEST(WireReader, ReadsPackedAndUnpackedNumbersAlike) {
  const std::vector<std::int64_t> expected{1, -1, 300};
  std::vector<std::int64_t> packed;
  std::vector<std::int64_t> unpacked;
  WireField field;
  const std::string one = WireWriter().packed_varints(7, expected).take();
  for (WireReader reader(one); reader.next(field);) EXPECT_TRUE(append_varints(field, packed));
  const std::string other = WireWriter().varint(7, 1).varint(7, -1).varint(7, 300).take();
  for (WireReader reader(other); reader.next(field);) EXPECT_TRUE(append_varints(field, unpacked));
  EXPECT_EQ(packed, expected);
  EXPECT_EQ(unpacked, expected);
}

TEST(WireReader, ReportsPackedNumbersThatAreCut) {
  WireField field;
  std::vector<std::int64_t> integers;
  std::vector<std::uint32_t> words;
  const std::string cut = WireWriter().bytes(7, "\x01\x80").take();
  WireReader reader(cut);
  ASSERT_TRUE(reader.next(field));
  EXPECT_FALSE(append_varints(field, integers));
  const std::string odd = WireWriter().bytes(7, "12345").take();
  WireReader other(odd);
  ASSERT_TRUE(other.next(field));
  EXPECT_FALSE(append_fixed32(field, words));
}

TEST(WireReader, TakesNumbersOfAnotherWireTypeForUnknown) {
  WireField field;
  std::vector<std::int64_t> integers;
  const std::string message = WireWriter().fixed32(7, 1).take();
  WireReader reader(message);
  ASSERT_TRUE(reader.next(field));
  EXPECT_TRUE(append_varints(field, integers));
  EXPECT_TRUE(integers.empty());
}

}  // namespace
}  // namespace xflow::onnx_io
