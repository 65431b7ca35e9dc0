// Kernels are read back as they were written.
#include "src/kernels/kernel_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace xflow::cost {
namespace {

using ir::DataType;
using ops::KernelSpec;

TEST(KernelText, IsReadBackAsItWasWritten) {
  KernelSpec convolution;
  convolution.kernel = "convolution";
  convolution.operands = {{DataType::float32, {1, 3, 8, 8}, false}, {DataType::float16, {4, 3, 3, 3}, true}};
  convolution.results = {{DataType::float32, {1, 4, 8, 8}, false}};
  convolution.integers = {{"strides", {1, 1}}, {"pads", {1, -1, 1, 1}}, {"groups", {1}}};
  convolution.post = {{"add", {}, {{DataType::float32, {1, 4, 1, 1}, true}}},
                      {"sub@1", {}, {{DataType::float32, {}, true}}},
                      {"clip", {0, std::numeric_limits<double>::infinity()}, {}},
                      {"hard_sigmoid", {1.0 / 6, 0.5}, {}},
                      {"add", {}, {{DataType::float32, {1, 4, 8, 8}, false}}}};
  KernelSpec resize;
  resize.kernel = "copy";
  resize.word = "resize/nearest/half_pixel/floor";
  resize.operands = {{DataType::uint8, {1, 3, 8, 0}, false}};
  resize.results = {{DataType::uint8, {1, 3, 16, 0}, false}};
  resize.integers = {{"numerators", {}}, {"to", {2}}};
  resize.reals = {{"value", -1e-45}, {"most", 1e300}, {"least", -std::numeric_limits<double>::infinity()}};
  KernelSpec split;
  split.kernel = "copy";
  split.word = "split";
  split.operands = {{DataType::int64, {4}, false}};
  split.results = {{DataType::int64, {1}, false}, {DataType::int64, {3}, false}};
  KernelSpec full;
  full.kernel = "copy";
  full.word = "full";
  full.results = {{DataType::boolean, {}, false}};
  for (const KernelSpec& spec : {convolution, resize, split, full}) {
    const auto read = parse_kernel(ops::to_string(spec));
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(*read, spec) << ops::to_string(*read);
  }
}

TEST(KernelText, ThatIsNoneIsRefusedWithThePlace) {
  const auto message = [](std::string_view text) {
    const auto read = parse_kernel(text);
    EXPECT_FALSE(read) << text;
    return read ? "" : read.error().message;
  };
  EXPECT_EQ(message(""), "kernel '': expected the name of a kernel at byte 0, found the end");
  EXPECT_EQ(message("relu"), "kernel 'relu': expected '(' at byte 4, found the end");
  EXPECT_EQ(message("relu(float31[4]) -> float32[4]"),
            "kernel 'relu(float31[4]) -> float32[4]': expected an element type at byte 5, found 'float31[4]) '");
  EXPECT_EQ(message("relu(float32[4) -> float32[4]"),
            "kernel 'relu(float32[4) -> float32[4]': expected ']' at byte 14, found ') -> float32'");
  EXPECT_EQ(message("relu(float32[4]) -> float32[4] a=b"),
            "kernel 'relu(float32[4]) -> float32[4] a=b': expected a number at byte 33, found 'b'");
  EXPECT_EQ(message("relu(float32[4]) -> float32[4] | exp}"),
            "kernel 'relu(float32[4]) -> float32[4] | exp}': expected the end at byte 36, found '}'");
}

}  // namespace
}  // namespace xflow::cost
