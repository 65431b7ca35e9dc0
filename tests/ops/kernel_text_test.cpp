// Kernels are read back as they were written.
#include "src/ops/kernel_text.h"

#include <gtest/gtest.h>

#include <limits>

#include "src/ops/function_id.h"
#include "src/ops/op.h"
#include "tests/ops/made_kernel.h"

namespace xflow::ops {
namespace {

using ir::DataType;

TEST(KernelText, IsReadBackAsItWasWritten) {
  KernelSpec convolution = kernel_named("convolution");
  convolution.operands = {{DataType::float32, {1, 3, 8, 8}, false}, {DataType::float16, {4, 3, 3, 3}, true}};
  convolution.results = {{DataType::float32, {1, 4, 8, 8}, false}};
  convolution.integers = {{"strides", {1, 1}}, {"pads", {1, -1, 1, 1}}, {"groups", {1}}};
  convolution.post = {made_step("add", {}, {{DataType::float32, {1, 4, 1, 1}, true}}),
                      made_step("sub@1", {}, {{DataType::float32, {}, true}}),
                      made_step("clip", {0, std::numeric_limits<double>::infinity()}), made_step("hard_sigmoid", {1.0 / 6, 0.5}),
                      made_step("add", {}, {{DataType::float32, {1, 4, 8, 8}, false}})};
  KernelSpec resize = kernel_named("copy", "resize/nearest/half_pixel/floor");
  resize.operands = {{DataType::uint8, {1, 3, 8, 0}, false}};
  resize.results = {{DataType::uint8, {1, 3, 16, 0}, false}};
  resize.integers = {{"numerators", {}}, {"to", {2}}};
  resize.reals = {{"value", -1e-45}, {"most", 1e300}, {"least", -std::numeric_limits<double>::infinity()}};
  KernelSpec split = kernel_named("copy", "split");
  split.operands = {{DataType::int64, {4}, false}};
  split.results = {{DataType::int64, {1}, false}, {DataType::int64, {3}, false}};
  KernelSpec full = kernel_named("copy", "full");
  full.results = {{DataType::boolean, {}, false}};
  for (const KernelSpec& spec : {convolution, resize, split, full}) {
    const auto read = parse_kernel(to_string(spec));
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(*read, spec) << to_string(*read);
  }
}

// A name, its variant, and what is computed.
struct Name {
  const char* name;
  const char* variant;
  KernelFamily family;
  StepFunction function;
};

TEST(KernelText, NamesWhatIsComputed) {
  using enum KernelFamily;
  const Name names[] = {
      {"matmul", "", product, {.op = Op::Matmul}},
      {"convolution", "", convolution, {.op = Op::Conv}},
      {"transposed_convolution", "", convolution, {.op = Op::ConvTranspose}},
      {"pool_max", "", pooling, {.op = Op::MaxPool}},
      {"pool_average", "", pooling, {.op = Op::AveragePool}},
      {"reduce", "mean", reduction, {.op = Op::ReduceMean}},
      {"softmax", "", softmax, {.op = Op::Softmax}},
      {"log_softmax", "", softmax, {.op = Op::LogSoftmax}},
      {"normalization", "layer", layer_normalization, {}},
      {"normalization", "rms", rms_normalization, {}},
      {"attention", "", attention, {}},
      {"pointwise/relu", "", pointwise, {.op = Op::Relu}},
      {"pointwise/gelu_erf", "", pointwise, {.fused = FunctionId::gelu_erf}},
      {"pointwise/swish", "x;x;sigmoid;mul", pointwise, {.fused = FunctionId::swish, .graph = "x;x;sigmoid;mul"}},
      {"copy", "transpose", copy, {.op = Op::Transpose}},
      {"copy", "pad/edge", copy, {.op = Op::Pad}},
      {"reorder", "plain>blocked8", reorder, {}},
      {"none", "", none, {}},
      {"lrn", "", other, {.op = Op::Lrn}},
  };
  for (const Name& expected : names) {
    SCOPED_TRACE(std::string(expected.name) + ":" + expected.variant);
    const KernelSpec spec = kernel_named(expected.name, expected.variant);
    EXPECT_EQ(spec.family, expected.family);
    EXPECT_EQ(spec.function, expected.function);
    EXPECT_EQ(kernel_name(spec), expected.name);
    EXPECT_EQ(kernel_variant(spec), expected.variant);
  }
  const KernelSpec resize = kernel_named("copy", "resize/linear/half_pixel/floor");
  EXPECT_EQ(resize.word("mode"), "linear");
  EXPECT_EQ(resize.word("coordinates"), "half_pixel");
  EXPECT_EQ(resize.word("rounding"), "floor");
  EXPECT_EQ(resize.word("order"), "");
}

// A profile may have kernels that only another device or version knows.
TEST(KernelText, KeepsNamesThatItDoesNotKnow) {
  for (const char* text :
       {"sort(float32[4]) -> float32[4]", "copy:shuffle/twice(float32[4]) -> float32[4]", "reduce:prod(float32[4]) -> float32[]",
        "pointwise/swoosh(float32[4]) -> float32[4] | swash@1(float32[4])", "normalization:batch(float32[4]) -> float32[4]"}) {
    const auto read = parse_kernel(text);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(to_string(*read), text);
    EXPECT_FALSE(read->function.op) << text;
    EXPECT_FALSE(read->function.fused) << text;
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

// A profile has a kernel in a line.
TEST(KernelText, IsPrintable) {
  for (const char* text :
       {"so\nrt(float32[4]) -> float32[4]", "copy:shuf\tfle(float32[4]) -> float32[4]", "sort(float32[4]) -> float32[4] a\r=1",
        "sort(float32[4]) -> float32[4] | sw\x7f"
        "ash"}) {
    const auto read = parse_kernel(text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().message.find("expected a printable character at byte "), std::string::npos) << read.error().message;
  }
}

}  // namespace
}  // namespace xflow::ops
