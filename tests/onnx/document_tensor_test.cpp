#include "src/onnx/document/document_tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "src/onnx/document/document_builder.h"
#include "src/onnx/document/wire.h"
#include "tests/onnx/model_builder.h"

namespace xflow::onnx_io {
namespace {

using ir::DataType;
using std::string_literals::operator""s;

WireWriter tensor_of(DataType type, const std::vector<std::int64_t>& dims) {
  WireWriter writer;
  for (const std::int64_t dim : dims) writer.varint(1, dim);
  writer.varint(2, static_cast<int>(type)).bytes(8, "t");
  return writer;
}

std::vector<double> doubles_of(const std::string& message) {
  const auto tensor = parse_tensor(message);
  const auto values = tensor ? doubles(*tensor) : Result<std::vector<double>>(fail(tensor.error()));
  EXPECT_TRUE(values) << values.error().text();
  return values ? *values : std::vector<double>();
}

std::string bytes_of(const std::string& message) {
  const auto tensor = parse_tensor(message);
  std::string owned;
  const auto bytes = tensor ? raw_bytes(*tensor, owned) : Result<std::string_view>(fail(tensor.error()));
  return bytes ? std::string(*bytes) : bytes.error().text();
}

using Doubles = std::vector<double>;

TEST(TensorView, ReadsEveryTypeFromItsTypedField) {
  const double half = 0.5;
  EXPECT_EQ(doubles_of(tensor_of(DataType::float32, {2}).fixed32(4, 1.5F).fixed32(4, -2).take()), (Doubles{1.5, -2}));
  EXPECT_EQ(doubles_of(tensor_of(DataType::float64, {1}).fixed64(10, 0.1).take()), Doubles{0.1});
  for (const DataType type : {DataType::int8, DataType::int16, DataType::int32}) {
    EXPECT_EQ(doubles_of(tensor_of(type, {3}).packed_varints(5, {1, -2, 127}).take()), (Doubles{1, -2, 127})) << ir::name(type);
  }
  for (const DataType type : {DataType::uint8, DataType::uint16}) {
    EXPECT_EQ(doubles_of(tensor_of(type, {2}).packed_varints(5, {1, 255}).take()), (Doubles{1, 255})) << ir::name(type);
  }
  EXPECT_EQ(doubles_of(tensor_of(DataType::boolean, {2}).varint(5, 1).varint(5, 0).take()), (Doubles{1, 0}));
  EXPECT_EQ(doubles_of(tensor_of(DataType::float16, {2}).packed_varints(5, {0x3800, 0xc000}).take()), (Doubles{half, -2}));
  EXPECT_EQ(doubles_of(tensor_of(DataType::bfloat16, {1}).varint(5, 0x3f00).take()), Doubles{half});
  EXPECT_EQ(doubles_of(tensor_of(DataType::int64, {2}).packed_varints(7, {-5, 5000000000}).take()), (Doubles{-5, 5e9}));
  EXPECT_EQ(doubles_of(tensor_of(DataType::uint32, {1}).varint(11, 4294967295).take()), Doubles{4294967295.0});
  EXPECT_EQ(doubles_of(tensor_of(DataType::uint64, {1}).varint(11, -1).take()), Doubles{18446744073709551616.0});
}

TEST(TensorView, ReadsEveryTypeFromRawData) {
  const auto raw = [](DataType type, const std::string& bytes) { return doubles_of(tensor_of(type, {2}).bytes(9, bytes).take()); };
  EXPECT_EQ(raw(DataType::float32, "\x00\x00\x80\x3f\x00\x00\x00\xc0"s), (Doubles{1, -2}));
  EXPECT_EQ(raw(DataType::float64, "\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\xc0"s), (Doubles{1, -2}));
  EXPECT_EQ(raw(DataType::int8, "\x01\xfe"s), (Doubles{1, -2}));
  EXPECT_EQ(raw(DataType::uint8, "\x01\xfe"s), (Doubles{1, 254}));
  EXPECT_EQ(raw(DataType::boolean, "\x01\x00"s), (Doubles{1, 0}));
  EXPECT_EQ(raw(DataType::int16, "\x01\x00\xfe\xff"s), (Doubles{1, -2}));
  EXPECT_EQ(raw(DataType::uint16, "\x01\x00\xfe\xff"s), (Doubles{1, 65534}));
  EXPECT_EQ(raw(DataType::float16, "\x00\x3c\x00\xc0"s), (Doubles{1, -2}));
  EXPECT_EQ(raw(DataType::bfloat16, "\x80\x3f\x00\xc0"s), (Doubles{1, -2}));
  EXPECT_EQ(raw(DataType::int32, "\x01\0\0\0\xfe\xff\xff\xff"s), (Doubles{1, -2}));
  EXPECT_EQ(raw(DataType::uint32, "\x01\0\0\0\xfe\xff\xff\xff"s), (Doubles{1, 4294967294}));
  EXPECT_EQ(raw(DataType::int64, "\x01\0\0\0\0\0\0\0\xfe\xff\xff\xff\xff\xff\xff\xff"s), (Doubles{1, -2}));
}

TEST(TensorView, KeepsTypesWithoutArithmeticAsPayload) {
  const std::vector<DataType> bytes{DataType::float8e4m3fn, DataType::float8e4m3fnuz, DataType::float8e5m2, DataType::float8e5m2fnuz,
                                    DataType::float8e8m0};
  for (const DataType type : bytes) {
    EXPECT_EQ(bytes_of(tensor_of(type, {3}).packed_varints(5, {1, 200, 255}).take()), "\x01\xc8\xff") << ir::name(type);
    EXPECT_EQ(bytes_of(tensor_of(type, {3}).bytes(9, "abc").take()), "abc") << ir::name(type);
  }
  for (const DataType type : {DataType::int4, DataType::uint4, DataType::float4e2m1}) {
    EXPECT_EQ(bytes_of(tensor_of(type, {3}).packed_varints(5, {0x21, 0x03}).take()), "\x21\x03") << "two elements a number";
    EXPECT_EQ(bytes_of(tensor_of(type, {3}).bytes(9, "ab").take()), "ab");
  }
  for (const DataType type : {DataType::int2, DataType::uint2}) {
    EXPECT_EQ(bytes_of(tensor_of(type, {5}).packed_varints(5, {0xe4, 0x01}).take()), "\xe4\x01") << "four elements a number";
  }
  EXPECT_EQ(bytes_of(tensor_of(DataType::complex64, {1}).fixed32(4, 1).fixed32(4, 2).take()), "\x00\x00\x80\x3f\x00\x00\x00\x40"s);
  EXPECT_EQ(bytes_of(tensor_of(DataType::complex128, {1}).fixed64(10, 1).fixed64(10, 2).take()).size(), 16U);
}

TEST(TensorView, ReadsStrings) {
  const std::string message = tensor_of(DataType::string, {2}).bytes(6, "one").bytes(6, "").take();
  const auto tensor = parse_tensor(message);
  EXPECT_EQ(*strings(*tensor), (std::vector<std::string_view>{"one", ""}));
  EXPECT_EQ(bytes_of(message), "tensor 't' of type string[2] has no elements of a fixed size");
  const std::string few = tensor_of(DataType::string, {2}).bytes(6, "one").take();
  EXPECT_EQ(strings(*parse_tensor(few)).error().text(), "tensor 't' of type string[2] needs 2 strings and has 1");
  const std::string floats = tensor_of(DataType::float32, {}).take();
  EXPECT_EQ(strings(*parse_tensor(floats)).error().text(), "tensor 't' is float32[], expected strings");
}

TEST(TensorView, CopiesNothingThatIsRawAlready) {
  const std::string raw = testing::float_tensor("w", {1, 2});
  const std::string packed = tensor_of(DataType::float32, {2}).bytes(4, "abcdefgh").take();
  for (const std::string& message : {raw, packed}) {
    const auto tensor = parse_tensor(message);
    std::string owned;
    const auto bytes = raw_bytes(*tensor, owned);
    EXPECT_GE(bytes->data(), message.data());
    EXPECT_LE(bytes->data() + bytes->size(), message.data() + message.size());
    EXPECT_TRUE(owned.empty());
  }
}

TEST(TensorView, SaysWhereElementsAreMissing) {
  EXPECT_EQ(bytes_of(tensor_of(DataType::float32, {2, 3}).bytes(9, "abcd").take()),
            "tensor 't' of type float32[2,3] needs 24 bytes and has 4");
  EXPECT_EQ(bytes_of(tensor_of(DataType::float32, {1}).take()), "tensor 't' of type float32[1] needs 4 bytes and has 0");
  EXPECT_EQ(bytes_of(tensor_of(DataType::float32, {1}).varint(7, 3).take()), "tensor 't' of type float32[1] needs 4 bytes and has 0")
      << "elements in the field of another type";
  EXPECT_EQ(bytes_of(tensor_of(DataType::float32, {1}).bytes(4, "abc").take()), "tensor 't' has truncated elements");
  EXPECT_EQ(bytes_of(tensor_of(DataType::float32, {-1}).take()), "tensor 't' has the dimension -1");
  EXPECT_EQ(bytes_of(tensor_of(DataType::float32, {1 << 30, 1 << 30}).take()), "tensor 't' has more than 2^59 elements");
  EXPECT_EQ(bytes_of(tensor_of(static_cast<DataType>(99), {1}).take()),
            "tensor 't' of type data type 99[1] has no elements of a fixed size");
}

TEST(TensorView, MayHaveNoElements) {
  EXPECT_EQ(doubles_of(tensor_of(DataType::float32, {0}).take()), Doubles());
  EXPECT_EQ(doubles_of(tensor_of(DataType::int64, {3, 0}).bytes(9, "").take()), Doubles());
  EXPECT_EQ(doubles_of(tensor_of(DataType::float32, {}).bytes(9, "\0\0\x80\x3f"s).take()), Doubles{1}) << "a scalar has one";
}

TEST(TensorView, LeavesElementsToTheFieldThatTheFileNames) {
  const std::string message = tensor_of(DataType::float32, {1}).fixed32(4, 7).bytes(9, "\0\0\x80\x3f"s).take();
  EXPECT_EQ(doubles_of(message), Doubles{1}) << "raw_data wins where it is set";
}

TEST(TensorView, GivesConstantsThatKeepTheFileAlive) {
  std::optional<ir::Constant> kept;
  {
    testing::GraphParts parts;
    parts.initializers = {testing::float_tensor("w", {1, 2, 3})};
    const Document document = testing::parsed(testing::model_of(parts));
    auto constant = document.constant(document.main().initializers[0].tensor);
    ASSERT_TRUE(constant);
    EXPECT_FALSE(constant->source->identity().empty());
    kept = *constant;
  }
  EXPECT_EQ(kept->dims, std::vector<std::int64_t>{3});
  EXPECT_EQ(kept->source->size(), 12U);
  EXPECT_EQ(*ir::doubles(*kept), (Doubles{1, 2, 3}));
}

TEST(TensorMessage, IsReadBack) {
  const std::vector<std::int64_t> dims{2};
  const std::string message = tensor_message("w", DataType::float32, dims, "\0\0\x80\x3f\0\0\0\xc0"s);
  const auto tensor = parse_tensor(message);
  EXPECT_EQ(tensor->name, "w");
  EXPECT_EQ(tensor->type_text(), "float32[2]");
  EXPECT_EQ(doubles_of(message), (Doubles{1, -2}));
  EXPECT_EQ(tensor_header("w", DataType::float32, dims, 8) + "\0\0\x80\x3f\0\0\0\xc0"s, message);
}

}  // namespace
}  // namespace xflow::onnx_io
