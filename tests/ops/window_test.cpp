#include <gtest/gtest.h>

#include "src/ops/kernel_text.h"
#include "tests/ops/examples.h"

namespace xflow::ops {
namespace {

ir::Attributes pool(std::initializer_list<std::int64_t> kernel, std::initializer_list<ir::Attribute> others = {}) {
  ir::Attributes attributes(others);
  attributes.set("kernel", list(kernel));
  return attributes;
}

const std::vector<Example>& window_examples() {
  static const std::vector<Example> list_of_examples = {
      {"matmul", {"float32[M, K]", "float32[K, N]"}, {}},
      {"matmul", {"float32[B, 1, M, K]", "float32[H, K, N]"}, {}},
      {"matmul", {"float32[K]", "float32[K]"}, {}},
      {"matmul", {"float32[K]", "float32[B, K, N]"}, {}},
      {"matmul", {"float32[B, M, K]", "float32[K]"}, {}},
      {"conv", {"float32[N, C, L]", "float32[O, C, R]"}, {}},
      {"conv", {"float32[N, C, H, W]", "float32[O, C, 3, 3]"}, {{"pads", list({1, 1, 1, 1})}, {"strides", list({2, 2})}}},
      {"conv", {"float32[N, C, H, W]", "float32[C, 1, 3, 1]"}, {{"pads", list({1, 0, 0, 0})}, {"groups", ir::Poly(2)}}},
      {"conv", {"float32[1, 4, 8]", "float32[6, 2, 3]"}, {{"dilations", list({2})}, {"groups", ir::Poly(2)}}},
      {"conv", {"float32[N, C, D, H, W]", "float32[O, C, 1, 1, 1]"}, {}},
      {"conv_transpose", {"float32[N, C, L]", "float32[C, O, R]"}, {}},
      {"conv_transpose",
       {"float32[N, 4, H, W]", "float32[4, 3, 3, 3]"},
       {{"strides", list({2, 2})}, {"pads", list({1, 1, 1, 1})}, {"output_padding", list({1, 1})}, {"groups", ir::Poly(2)}}},
      {"max_pool", {"float32[N, C, H, W]"}, pool({2, 2}, {{"strides", list({2, 2})}})},
      {"max_pool", {"float32[N, C, L]"}, pool({3}, {{"pads", list({1, 1})}, {"ceil_mode", ir::Poly(1)}, {"strides", list({2})}})},
      {"average_pool", {"float32[N, C, H, W]"}, pool({2, 2}, {{"strides", list({2, 2})}})},
      {"average_pool", {"float32[N, C, H, W]"}, pool({3, 3}, {{"pads", list({1, 0, 1, 0})}})},
      {"average_pool", {"float32[N, C, L]"}, pool({3}, {{"pads", list({1, 1})}, {"count_include_pad", ir::Poly(1)}})},
      {"average_pool",
       {"float32[N, C, 5]"},
       pool({3}, {{"pads", list({1, 1})}, {"count_include_pad", ir::Poly(1)}, {"ceil_mode", ir::Poly(1)}, {"strides", list({2})}})},
      {"average_pool", {"float32[N, C, 9]"}, pool({3}, {{"dilations", list({2})}})},
      {"lrn", {"float32[N, C, H, W]"}, {{"size", ir::Poly(3)}, {"alpha", ir::Real(ir::Rational::make(1, 8192).value())}}},
  };
  return list_of_examples;
}

TEST(Window, HasTheIndexNotationOfItsGolden) { expect_golden("window.golden", window_examples()); }

TEST(Window, IsReadAsItIsWrittenInEveryOpset) {
  for (const Example& example : window_examples()) expect_round_trips(example);
}

TEST(Matmul, HasTheShapesOfNumpy) {
  EXPECT_EQ(type_of({"matmul", {"float32[5, 1, 2, 3]", "float32[4, 3, 7]"}, {}}), "float32[5, 4, 2, 7]");
  EXPECT_EQ(type_of({"matmul", {"int64[3]", "int64[3]"}, {}}), "int64[]");
  EXPECT_EQ(type_of({"matmul", {"float32[2, 3]", "float32[4, 5]"}, {}}),
            "matmul: expected the inner dimensions to be equal, found 3 and 4");
  EXPECT_EQ(type_of({"matmul", {"float32[]", "float32[4, 5]"}, {}}),
            "matmul: expected operand 'a' to have at least 1 dimension, found float32[]");
  EXPECT_EQ(type_of({"matmul", {"float32[2, 3]", "float64[3, 5]"}, {}}),
            "matmul: expected operands of one element type, found float32 and float64");
  EXPECT_EQ(type_of({"matmul", {"float32[2, 1, 3]", "float32[3, 3, 5]"}, {}}), "matmul: expected dimensions that broadcast, found 2 and 3");
}

TEST(Conv, HasAsManyOutputsAsWindows) {
  const ir::Attributes same{{"pads", list({1, 1, 1, 1})}};
  EXPECT_EQ(type_of({"conv", {"float32[N, 3, H, W]", "float32[8, 3, 3, 3]"}, same}), "float32[N, 8, H, W]");
  EXPECT_EQ(type_of({"conv", {"float32[1, 3, 224, 224]", "float32[8, 3, 7, 7]"}, {{"strides", list({2})}, {"pads", list({3})}}}),
            "float32[1, 8, 112, 112]");
  EXPECT_EQ(type_of({"conv", {"float32[N, g*C, H]", "float32[g*O, C, 1]"}, {{"groups", ir::Poly(1)}}}).substr(0, 14), "float32[N, g*O");
}

TEST(Conv, SaysWhatItsTypeRuleExpected) {
  EXPECT_EQ(type_of({"conv", {"float32[1, 3, 8]", "float32[4, 2, 3]"}, {}}),
            "conv: expected the channels of x to be those of w times groups, found 3 and 2");
  EXPECT_EQ(type_of({"conv", {"float32[1, 4, 8]", "float32[5, 2, 3]"}, {{"groups", ir::Poly(2)}}}),
            "conv: expected the output channels to be a multiple of groups, found 5 and 4");
  EXPECT_EQ(type_of({"conv", {"float32[1, 3]", "float32[4, 3]"}, {}}), "conv: expected x to have 3 to 5 dimensions, found float32[1, 3]");
  EXPECT_EQ(type_of({"conv", {"float32[1, 3, 8]", "float32[4, 3, 3, 3]"}, {}}),
            "conv: expected 'x' and 'w' to have equally many dimensions, found float32[1, 3, 8] and float32[4, 3, 3, 3]");
  EXPECT_EQ(type_of({"conv", {"float32[1, 3, 8, 8]", "float32[4, 3, 3, 3]"}, {{"pads", list({1, 1})}}}),
            "conv: expected 'pads' to have 4 elements, found 2");
  EXPECT_EQ(type_of({"conv", {"float32[1, 3, 8]", "float32[4, 3, 3]"}, {{"strides", list({0})}}}),
            "conv: expected 'strides' to be at least 1, found 0");
  EXPECT_EQ(type_of({"conv", {"float32[1, 3, 8]", "float32[4, 3, 11]"}, {{"pads", list({1, 1})}}}),
            "conv: expected the padded input to cover the window, found 10 elements and a window of 11");
}

// Rules have symbolic groups: a dimension that is a product is divided exactly.
TEST(Conv, DividesChannelsBySymbolicGroups) {
  ir::Arena arena;
  const ir::Poly groups(arena.symbols().named(ir::SymbolKind::dimension, "g"));
  const auto x = arena.input(parse_type(arena.symbols(), "float32[N, g*C, L]"), 0);
  const auto w = arena.input(parse_type(arena.symbols(), "float32[g*O, C, R]"), 1);
  const auto y = apply(arena, "conv", {x, w}, {{"groups", groups}});
  ASSERT_TRUE(y) << y.error().text();
  std::vector<ir::Poly> index;
  const Expr expr = semantics_of(arena, y->node, 0, index);
  EXPECT_EQ(to_string(arena.symbols(), index, expr, {"x", "w"}),
            "[i'1, i'2, i'3] = sum(k'4 < C, sum(k'5 < R, x[i'1, C*floor(i'2/O) + k'4, i'3 + k'5] * w[i'2, k'4, k'5]))");
}

FakeOnnxNode conv_node(ir::Arena& arena, const char* type, const char* x, const char* w, int opset = 11) {
  FakeOnnxNode node(arena.symbols(), type, opset);
  return node.input(parse_type(arena.symbols(), x)).input(parse_type(arena.symbols(), w));
}

TEST(Conv, ResolvesAutoPad) {
  ir::Arena arena;
  const auto lifted_with = [&](const char* x, const char* pad, std::vector<std::int64_t> strides) {
    FakeOnnxNode node = conv_node(arena, "Conv", x, "float32[4, 3, 4]");
    return lifted(node.attribute("auto_pad", std::string(pad)).attribute("strides", std::move(strides)), arena);
  };
  const std::string head = "conv(float32[1, 3, 9], float32[4, 3, 4]) {dilations: [1], groups: 1, ";
  EXPECT_EQ(lifted_with("float32[1, 3, 9]", "SAME_UPPER", {1}), head + "pads: [1, 2], strides: [1]}");
  EXPECT_EQ(lifted_with("float32[1, 3, 9]", "SAME_LOWER", {1}), head + "pads: [2, 1], strides: [1]}");
  EXPECT_EQ(lifted_with("float32[1, 3, 9]", "SAME_UPPER", {2}), head + "pads: [1, 2], strides: [2]}");
  EXPECT_EQ(lifted_with("float32[1, 3, 9]", "SAME_UPPER", {5}), head + "pads: [0, 0], strides: [5]}");
  EXPECT_EQ(lifted_with("float32[1, 3, 9]", "VALID", {2}), head + "pads: [0, 0], strides: [2]}");
  EXPECT_EQ(lifted_with("float32[1, 3, 9]", "ODD", {2}), "auto_pad ODD is not known");
  // With stride 1 the padding does not depend on the size.
  EXPECT_EQ(lifted_with("float32[1, 3, L]", "SAME_UPPER", {1}),
            "conv(float32[1, 3, L], float32[4, 3, 4]) {dilations: [1], groups: 1, pads: [1, 2], strides: [1]}");
}

TEST(Conv, IsNotAnOperatorWithBias) {
  ir::Arena arena;
  FakeOnnxNode node = conv_node(arena, "Conv", "float32[1, 3, 9]", "float32[4, 3, 4]");
  EXPECT_EQ(lifted(node.input(parse_type(arena.symbols(), "float32[4]")), arena), "a convolution with bias is a composition");
}

TEST(Conv, IsNotWrittenWithSymbolicPads) {
  ir::Arena arena;
  const ir::Poly pad(arena.symbols().named(ir::SymbolKind::parameter, "p"));
  EXPECT_EQ(exported({"conv", {"float32[1, 3, 9]", "float32[4, 3, 4]"}, {{"pads", std::vector<ir::Poly>{pad, pad}}}}, "Conv", 11),
            "cannot export a symbolic 'pads'");
}

TEST(ConvTranspose, HasTheShapesOfOnnx) {
  EXPECT_EQ(type_of({"conv_transpose", {"float32[1, 4, 3, 3]", "float32[4, 2, 3, 3]"}, {{"strides", list({3, 2})}}}),
            "float32[1, 2, 9, 7]");
  EXPECT_EQ(type_of({"conv_transpose",
                     {"float32[1, 4, 3, 3]", "float32[4, 2, 3, 3]"},
                     {{"strides", list({3, 2})}, {"output_padding", list({1, 1})}, {"groups", ir::Poly(2)}}}),
            "float32[1, 4, 10, 8]");
  EXPECT_EQ(type_of({"conv_transpose", {"float32[1, 3, 3]", "float32[4, 2, 3]"}, {}}),
            "conv_transpose: expected the channels of x to be those of w, found 3 and 4");
}

TEST(ConvTranspose, ResolvesOutputShapeAndAutoPad) {
  ir::Arena arena;
  FakeOnnxNode shape = conv_node(arena, "ConvTranspose", "float32[1, 1, 3, 3]", "float32[1, 2, 3, 3]");
  shape.attribute("strides", std::vector<std::int64_t>{3, 2}).attribute("output_shape", std::vector<std::int64_t>{10, 8});
  EXPECT_EQ(lifted(shape.attribute("output_padding", std::vector<std::int64_t>{1, 1}), arena),
            "conv_transpose(float32[1, 1, 3, 3], float32[1, 2, 3, 3]) {dilations: [1, 1], groups: 1, output_padding: [1, 1], "
            "pads: [0, 0, 0, 0], strides: [3, 2]}");
  FakeOnnxNode same = conv_node(arena, "ConvTranspose", "float32[1, 1, L]", "float32[1, 2, 3]");
  EXPECT_EQ(
      lifted(same.attribute("auto_pad", std::string("SAME_UPPER")).attribute("strides", std::vector<std::int64_t>{2}), arena),
      "conv_transpose(float32[1, 1, L], float32[1, 2, 3]) {dilations: [1], groups: 1, output_padding: [0], pads: [0, 1], strides: [2]}");
  FakeOnnxNode wide = conv_node(arena, "ConvTranspose", "float32[1, 1, L]", "float32[1, 2, 1]");
  EXPECT_EQ(
      lifted(wide.attribute("auto_pad", std::string("SAME_UPPER")).attribute("strides", std::vector<std::int64_t>{2}), arena),
      "conv_transpose(float32[1, 1, L], float32[1, 2, 1]) {dilations: [1], groups: 1, output_padding: [1], pads: [0, 0], strides: [2]}");
  FakeOnnxNode open = conv_node(arena, "ConvTranspose", "float32[1, 1, L]", "float32[1, 2, 1]");
  EXPECT_EQ(lifted(open.attribute("output_shape", std::vector<std::int64_t>{7}), arena),
            "the padding of this transposed convolution may be negative");
}

TEST(ConvTranspose, IsNotWrittenWithMoreOutputPaddingThanOnnxHas) {
  const Example example{
      "conv_transpose", {"float32[1, 1, 3]", "float32[1, 2, 1]"}, {{"strides", list({2})}, {"output_padding", list({2})}}};
  EXPECT_EQ(exported(example, "ConvTranspose", 11), "output_padding must be less than the stride or the dilation");
}

TEST(MaxPool, RoundsTheNumberOfWindows) {
  const auto shape = [](const char* x, std::initializer_list<ir::Attribute> attributes) {
    return type_of({"max_pool", {x}, pool({3}, attributes)});
  };
  const ir::Attribute ceil{"ceil_mode", ir::Poly(1)};
  EXPECT_EQ(shape("float32[1, 1, 8]", {{"strides", list({2})}}), "float32[1, 1, 3]");
  EXPECT_EQ(shape("float32[1, 1, 8]", {{"strides", list({2})}, ceil}), "float32[1, 1, 4]");
  // A window that would start in the padding at the end does not count.
  EXPECT_EQ(shape("float32[1, 1, 4]", {{"strides", list({3})}, {"pads", list({2, 3})}, ceil}), "float32[1, 1, 2]");
}

TEST(Pools, AreReadWhereTheyHaveOneMeaning) {
  ir::Arena arena;
  const ir::TensorType x = parse_type(arena.symbols(), "float32[1, 2, 8]");
  const auto node = [&](const char* type, int opset) {
    FakeOnnxNode fake(arena.symbols(), type, opset);
    return fake.input(x).attribute("kernel_shape", std::vector<std::int64_t>{2});
  };
  EXPECT_EQ(lifted(node("MaxPool", 12).outputs(2), arena), "the indices of MaxPool are used");
  EXPECT_EQ(lifted(node("MaxPool", 12).attribute("auto_pad", std::string("VALID")).attribute("ceil_mode", std::int64_t{1}), arena),
            "ceil_mode together with auto_pad has no single meaning");
  EXPECT_EQ(lifted(node("AveragePool", 11).attribute("kernel_shape", std::vector<std::int64_t>{2, 2}), arena),
            "a pool has 1 to 3 spatial dimensions");
  EXPECT_EQ(lifted(node("AveragePool", 6), arena), "no row reads this node");
}

TEST(Pools, AreWrittenWithAttributesThatTheOpsetHas) {
  const Example dilated{"max_pool", {"float32[1, 2, 8]"}, pool({2}, {{"dilations", list({2})}})};
  EXPECT_EQ(exported(dilated, "MaxPool", 9), "MaxPool has no dilations in this opset");
  EXPECT_EQ(exported(dilated, "MaxPool", 10), "MaxPool(%0) {kernel_shape: [2], strides: [1], pads: [0, 0], dilations: [2]}");
  const Example average{"average_pool", {"float32[1, 2, 8]"}, pool({2}, {{"dilations", list({2})}})};
  EXPECT_EQ(exported(average, "AveragePool", 18), "AveragePool has no dilations in this opset");
  EXPECT_EQ(exported(average, "AveragePool", 19), "AveragePool(%0) {kernel_shape: [2], strides: [1], pads: [0, 0], dilations: [2]}");
}

TEST(Window, HasKernelsWithTheirAttributes) {
  const auto kernel_of = [](const Example& example) {
    ir::Arena arena;
    const auto id = make_node(arena, example);
    const ir::Node& node = arena.node(id.value());
    const std::vector<ir::TensorType> types = operand_types(arena, node);
    return to_string(get(node.op).kernel(Operation{types, node.attributes, node.outputs}).value());
  };
  EXPECT_EQ(kernel_of({"matmul", {"float32[2, 3]", "float32[3, 4]"}, {}}), "matmul(float32[2,3], float32[3,4]) -> float32[2,4]");
  EXPECT_EQ(kernel_of({"conv", {"float32[1, 4, 8]", "float32[6, 2, 3]"}, {{"groups", ir::Poly(2)}, {"pads", list({1, 1})}}}),
            "convolution(float32[1,4,8], float32[6,2,3]) -> float32[1,6,8] strides=[1] pads=[1,1] dilations=[1] groups=[2]");
  EXPECT_EQ(kernel_of({"average_pool", {"float32[1, 4, 8]"}, pool({2})}),
            "pool_average(float32[1,4,8]) -> float32[1,4,7] kernel=[2] strides=[1] pads=[0,0] dilations=[1] count_include_pad=[0]");
}

}  // namespace
}  // namespace xflow::ops
