#include "src/eval/npz.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/places.h"

namespace xflow::eval {
namespace {

// An array written by hand: NumPy's format version 1.
std::string npy(const std::string& descr, const std::string& order, const std::string& shape, std::string_view content) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  header.resize(118 - 1, ' ');
  header += '\n';
  std::string result = "\x93NUMPY";
  result += '\1';
  result += '\0';
  result += static_cast<char>(header.size());
  result += '\0';
  return result + header + std::string(content);
}

std::string_view bytes_of(const std::vector<std::int16_t>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * 2};
}

TEST(Npy, ReadsRowsAndColumns) {
  const std::vector<std::int16_t> values = {1, 2, 3, 4, 5, 6};
  const auto rows = parse_npy(npy("<i2", "False", "(2, 3)", bytes_of(values)));
  ASSERT_TRUE(rows) << rows.error().text();
  EXPECT_EQ(type_text(*rows), "int16[2,3]");
  EXPECT_EQ(*integers(*rows), (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6}));
  const auto columns = parse_npy(npy("<i2", "True", "(2, 3)", bytes_of(values)));
  ASSERT_TRUE(columns) << columns.error().text();
  EXPECT_EQ(*integers(*columns), (std::vector<std::int64_t>{1, 3, 5, 2, 4, 6}));
}

TEST(Npy, RefusesWhatItCannotRead) {
  EXPECT_EQ(parse_npy("hello, world").error().text(), "not a NumPy array: expected \\x93NUMPY at the start");
  EXPECT_EQ(parse_npy(npy(">i2", "False", "(1,)", "ab")).error().text(), "cannot read a NumPy array of type '>i2'");
  EXPECT_EQ(parse_npy(npy("<i2", "False", "(9,)", "ab")).error().text(), "the NumPy array is cut or damaged");
  EXPECT_EQ(parse_npy(npy("<i2", "False", "(99999999999, 99999999999)", "ab")).error().code, ErrorCode::unreadable);
}

TEST(Npy, ShapesWhoseProductDoesNotFitAreDamaged) {
  // 2^24 * 2^40 elements are none modulo 2^64.
  const std::string content(std::size_t{1} << 24U, 'a');
  EXPECT_EQ(parse_npy(npy("|i1", "False", "(16777216, 1099511627776)", content)).error().text(), "the NumPy array is cut or damaged");
  EXPECT_EQ(parse_npy(npy("|i1", "False", "(0, 1099511627776, 1099511627776)", "")).error().text(), "the NumPy array is cut or damaged");
  EXPECT_EQ(type_text(*parse_npy(npy("|i1", "False", "(1000000, 0)", ""))), "int8[1000000,0]");
}

TEST(Npz, EntriesThatShareTheirBytesAreDamaged) {
  std::ifstream file(places::repository() + "/tests/fuzz/seeds/npz/entries-share-their-bytes.npz", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(bytes.empty());
  EXPECT_EQ(parse_npz(bytes).error().text(), "the archive is cut or damaged");
}

TEST(Npz, ReadsWhatNumpyWrites) {
  const std::string folder = std::filesystem::temp_directory_path() / ("xflow_npz_" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const std::string program =
      "import numpy; a = numpy.arange(6, dtype=numpy.float32).reshape(2, 3); b = numpy.zeros(5000, dtype=numpy.int64);"
      "numpy.savez('" +
      folder + "/s.npz', a=a, b=b); numpy.savez_compressed('" + folder + "/c.npz', a=a, b=b)";
  const std::string command = places::testenv_python() + " -c \"" + program + "\"";
  ASSERT_EQ(std::system(command.c_str()), 0);
  for (const char* name : {"s", "c"}) {
    const auto read = read_npz(folder + "/" + name + ".npz");
    ASSERT_TRUE(read) << read.error().text();
    ASSERT_EQ(read->size(), 2U);
    EXPECT_EQ(*doubles(read->at("a")), (std::vector<double>{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(type_text(read->at("b")), "int64[5000]");
  }
  EXPECT_EQ(parse_npz("PK").error().text(), "the archive is cut or damaged");
  EXPECT_EQ(read_npz(folder + "/none.npz").error().code, ErrorCode::io);
  std::filesystem::remove_all(folder);
}

TEST(Npz, IsReadAsItWasWritten) {
  const std::vector<float> floats = {1, -2, 3.5F, 0, 5, 6};
  const std::string bytes(reinterpret_cast<const char*>(floats.data()), floats.size() * sizeof(float));
  const std::vector<NpzArray> arrays = {{"a", ir::DataType::float32, {2, 3}, bytes},
                                        {"scalar", ir::DataType::boolean, {}, std::string_view("\1", 1)},
                                        {"empty", ir::DataType::int64, {0, 4}, {}},
                                        {"row", ir::DataType::uint16, {1}, std::string_view("\1\1", 2)}};
  const auto written = write_npz(arrays);
  ASSERT_TRUE(written);
  EXPECT_EQ(*written, *write_npz(arrays));
  const auto read = parse_npz(*written);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->size(), 4U);
  EXPECT_EQ(*doubles(read->at("a")), (std::vector<double>{1, -2, 3.5, 0, 5, 6}));
  EXPECT_EQ(type_text(read->at("a")), "float32[2,3]");
  EXPECT_EQ(type_text(read->at("scalar")), "bool[]");
  EXPECT_EQ(type_text(read->at("empty")), "int64[0,4]");
  EXPECT_EQ(*integers(read->at("row")), std::vector<std::int64_t>{257});
}

std::uint32_t number_at(const std::string& bytes, std::size_t at, std::size_t size) {
  std::uint32_t number = 0;
  for (std::size_t k = size; k-- > 0;) number = number << 8U | static_cast<unsigned char>(bytes[at + k]);
  return number;
}

TEST(Npz, WrittenArchivesHaveTheChecksumsOfTheirFiles) {
  const std::vector<NpzArray> arrays = {{"row", ir::DataType::uint16, {1}, std::string_view("\1\1", 2)},
                                        {"empty", ir::DataType::int64, {0}, {}}};
  const std::string bytes = *write_npz(arrays);
  std::size_t at = 0;
  for (std::size_t k = 0; k < arrays.size(); ++k) {
    ASSERT_EQ("PK\3\4", bytes.substr(at, 4));
    const std::size_t content = at + 30 + number_at(bytes, at + 26, 2) + number_at(bytes, at + 28, 2);
    const std::uint32_t size = number_at(bytes, at + 22, 4);
    EXPECT_EQ(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data() + content), size), number_at(bytes, at + 14, 4)) << k;
    at = content + size;
  }
}

TEST(Npz, TypesThatNumpyDoesNotHaveAreRefused) {
  const std::vector<NpzArray> arrays = {{"a", ir::DataType::bfloat16, {1}, std::string_view("\0\0", 2)}};
  EXPECT_EQ(write_npz(arrays).error().text(), "NumPy has no type bfloat16, which array 'a' has");
}

}  // namespace
}  // namespace xflow::eval
