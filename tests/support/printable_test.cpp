#include "src/support/printable.h"

#include <gtest/gtest.h>

namespace xflow::onnx_io {
namespace {

TEST(Printable, KeepsWhatIsOnlyShown) {
  EXPECT_EQ(printable("conv_1/bias [64,3] Größe 大 🙂"), "conv_1/bias [64,3] Größe 大 🙂");
  EXPECT_EQ(in_quotes("a b"), "'a b'");
}

TEST(Printable, EscapesWhatATerminalObeys) {
  EXPECT_EQ(printable("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(printable("a\r\nb\tc\a\x7f"), "a\\x0d\\nb\\x09c\\x07\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\xc2\x9b[31m"), "\\u009b[31m");
}

TEST(Printable, EscapesWhatChangesTheOrderOrTheLine) {
  EXPECT_EQ(printable("a\u202e\u2066b\u200f\u061c\u2028c\ufeff"), "a\\u202e\\u2066b\\u200f\\u061c\\u2028c\\ufeff");
}

TEST(Printable, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("a\xff\xfe"), "a\\xff\\xfe");
  EXPECT_EQ(printable("\xc3"), "\\xc3") << "cut";
  EXPECT_EQ(printable("\xe5\xa4 "), "\\xe5\\xa4 ") << "cut";
  EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b") << "overlong";
  EXPECT_EQ(printable("\xe0\x82\x9b"), "\\xe0\\x82\\x9b") << "overlong";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond Unicode";
}

TEST(Printable, KeepsEndsOfLinesOfTexts) { EXPECT_EQ(printable_lines("a\n\x1b\nb\n"), "a\n\\x1b\nb\n"); }

TEST(Printable, KeepsWhatJsonMeans) {
  EXPECT_EQ(printable_json("{\n \"a\\n\": \"\x7f\xc2\x85\xe2\x80\xae\"\n}"), "{\n \"a\\n\": \"\\u007f\\u0085\\u202e\"\n}");
  EXPECT_EQ(printable_json("\"\xc3\xa4\xf0\x9f\x8c\x8a\""), "\"\xc3\xa4\xf0\x9f\x8c\x8a\"") << "letters stay";
}

}  // namespace
}  // namespace xflow::onnx_io
