#include <gtest/gtest.h>

#include "src/ops/kernel_text.h"
#include "tests/ops/examples.h"

namespace xflow::ops {
namespace {

ir::Real rational(std::int64_t numerator, std::int64_t denominator) { return ir::Rational::make(numerator, denominator).value(); }

const std::vector<Example>& pointwise_examples() {
  static const std::vector<Example> list = {
      {"abs", {"int32[N]"}, {}},
      {"add", {"float32[N, C, H]", "float32[C, 1]"}, {}},
      {"add", {"float32[N]", "float32[M]"}, {}},
      {"and", {"bool[N]", "bool[1]"}, {}},
      {"cast", {"float32[N]"}, {{"to", ir::DataType::int64}}},
      {"cast", {"float32[N]"}, {{"to", ir::DataType::float32}}},
      {"ceil", {"float32[N]"}, {}},
      {"clip", {"float32[N]"}, {{"min", ir::Real(0)}, {"max", ir::Real(6)}}},
      {"clip", {"float32[N]"}, {{"max", rational(1, 2)}}},
      {"clip", {"float32[N]"}, {}},
      {"cos", {"float32[N]"}, {}},
      {"div", {"float32[N]", "float32[]"}, {}},
      {"div", {"int64[N]", "int64[]"}, {}},
      {"dropout", {"float32[N, C]"}, {}},
      {"elu", {"float32[N]"}, {}},
      {"equal", {"int64[N]", "int64[]"}, {}},
      {"equal", {"bool[N]", "bool[N]"}, {}},
      {"erf", {"float32[N]"}, {}},
      {"exp", {"float32[N]"}, {}},
      {"floor", {"float32[N]"}, {}},
      {"greater", {"float32[N]", "float32[]"}, {}},
      {"greater_equal", {"float32[N]", "float32[]"}, {}},
      {"hard_sigmoid", {"float32[N]"}, {{"alpha", rational(1, 4)}}},
      {"identity", {"string[N, 2]"}, {}},
      {"is_nan", {"float32[N]"}, {}},
      {"leaky_relu", {"float32[N]"}, {{"alpha", rational(1, 8)}}},
      {"less", {"float32[N]", "float32[]"}, {}},
      {"less_equal", {"float32[N]", "float32[]"}, {}},
      {"log", {"float32[N]"}, {}},
      {"maximum", {"float32[N]", "float32[]"}, {}},
      {"minimum", {"float32[N]", "float32[]"}, {}},
      {"mod", {"int64[N]", "int64[]"}, {}},
      {"mod", {"float32[N]", "float32[]"}, {{"fmod", ir::Poly(1)}}},
      {"mul", {"float32[N, 1]", "float32[1, M]"}, {}},
      {"neg", {"float32[]"}, {}},
      {"not", {"bool[N]"}, {}},
      {"or", {"bool[N]", "bool[N]"}, {}},
      {"pow", {"float32[N]", "int64[]"}, {}},
      {"pow", {"int32[N]", "float32[]"}, {}},
      {"prelu", {"float32[N, C, H]", "float32[C, 1]"}, {}},
      {"reciprocal", {"float32[N]"}, {}},
      {"relu", {"float32[N]"}, {}},
      {"round", {"float32[N]"}, {}},
      {"select", {"bool[N, 1]", "int64[M]", "int64[]"}, {}},
      {"sigmoid", {"float32[N]"}, {}},
      {"sign", {"float32[N]"}, {}},
      {"sin", {"float32[N]"}, {}},
      {"softplus", {"float32[N]"}, {}},
      {"sqrt", {"float32[N]"}, {}},
      {"sub", {"float32[N]", "float32[]"}, {}},
      {"tanh", {"float32[N]"}, {}},
      {"xor", {"bool[N]", "bool[N]"}, {}},
  };
  return list;
}

TEST(Pointwise, HasTheIndexNotationOfItsGolden) { expect_golden("pointwise.golden", pointwise_examples()); }

TEST(Pointwise, IsReadAsItIsWrittenInEveryOpset) {
  for (const Example& example : pointwise_examples()) expect_round_trips(example);
}

TEST(Pointwise, BroadcastsShapes) {
  EXPECT_EQ(type_of({"add", {"float32[2, 1, 4]", "float32[3, 1]"}, {}}), "float32[2, 3, 4]");
  EXPECT_EQ(type_of({"add", {"float32[]", "float32[N, 3]"}, {}}), "float32[N, 3]");
  EXPECT_EQ(type_of({"add", {"float32[N]", "float32[5]"}, {}}), "float32[5]");
  EXPECT_EQ(type_of({"less", {"float32[N]", "float32[1]"}, {}}), "bool[N]");
}

TEST(Pointwise, SaysWhatItsTypeRuleExpected) {
  EXPECT_EQ(type_of({"add", {"float32[2]", "float32[3]"}, {}}), "add: expected dimensions that broadcast, found 2 and 3");
  EXPECT_EQ(type_of({"add", {"float32[2]", "int64[2]"}, {}}), "add: expected operands of one element type, found float32 and int64");
  EXPECT_EQ(type_of({"add", {"float32[2]"}, {}}), "add: expected 2 operands, found 1");
  EXPECT_EQ(type_of({"add", {"float32[2]", ""}, {}}), "add: expected 2 operands, found 1");
  EXPECT_EQ(type_of({"add", {"", "float32[2]"}, {}}), "add: expected operand 'a' to be present");
  EXPECT_EQ(type_of({"add", {"bool[2]", "bool[2]"}, {}}), "add: expected operand 'a' to be of a numeric type, found bool[2]");
  EXPECT_EQ(type_of({"sqrt", {"int32[2]"}, {}}), "sqrt: expected operand 'x' to be of a floating type, found int32[2]");
  EXPECT_EQ(type_of({"relu", {"float32[2]"}, {{"alpha", ir::Real(1)}}}), "relu: unknown attribute 'alpha', expected no attributes");
  EXPECT_EQ(type_of({"cast", {"float32[2]"}, {}}), "cast: expected attribute 'to' (a data type)");
  EXPECT_EQ(type_of({"cast", {"float32[2]"}, {{"to", ir::DataType::string}}}),
            "cast: expected 'to' to be a numeric type or bool, found string");
  EXPECT_EQ(type_of({"clip", {"float32[2]"}, {{"min", std::string("low")}}}), "clip: expected attribute 'min' to be a real number");
  EXPECT_EQ(type_of({"mod", {"float32[2]", "float32[2]"}, {}}), "mod: expected fmod = 1 for floating types");
  EXPECT_EQ(type_of({"prelu", {"float32[1, 3]", "float32[2, 3]"}, {}}), "prelu: expected the slope to broadcast to x, found 2 and 1");
  EXPECT_EQ(type_of({"prelu", {"float32[3]", "float32[2, 3]"}, {}}), "prelu: expected the slope to broadcast to x");
  EXPECT_EQ(type_of({"select", {"bool[2]", "float32[2]", "int32[2]"}, {}}),
            "select: expected operands of one element type, found float32 and int32");
}

TEST(Pointwise, AnIntegerIsARealAttribute) {
  EXPECT_EQ(type_of({"clip", {"float32[2]"}, {{"min", ir::Poly(0)}, {"max", ir::Poly(6)}}}), "float32[2]");
}

TEST(Pointwise, IsWrittenOnlyForTypesThatTheOpsetHas) {
  EXPECT_EQ(exported({"add", {"int8[2]", "int8[2]"}, {}}, "Add", 13), "cannot be exported for int8 in this opset");
  EXPECT_EQ(exported({"add", {"int8[2]", "int8[2]"}, {}}, "Add", 14), "Add(%0, %1)");
  EXPECT_EQ(exported({"relu", {"bfloat16[2]"}, {}}, "Relu", 12), "cannot be exported for bfloat16 in this opset");
  EXPECT_EQ(exported({"relu", {"bfloat16[2]"}, {}}, "Relu", 13), "Relu(%0)");
  EXPECT_EQ(exported({"pow", {"float32[2]", "int64[2]"}, {}}, "Pow", 11), "cannot be exported with two element types in this opset");
}

TEST(Clip, HasBoundsAsAttributesThenAsInputs) {
  const Example relu6{"clip", {"float32[2]"}, {{"min", ir::Real(0)}, {"max", ir::Real(6)}}};
  EXPECT_EQ(exported(relu6, "Clip", 10), "Clip(%0) {min: 0, max: 6}");
  EXPECT_EQ(exported(relu6, "Clip", 11), "Clip(%0, float32[] 0, float32[] 6)");
  EXPECT_EQ(exported({"clip", {"float32[2]"}, {{"max", ir::Real(6)}}}, "Clip", 13), "Clip(%0, absent, float32[] 6)");
  EXPECT_EQ(exported({"clip", {"float32[2]"}, {{"min", ir::Real(0)}}}, "Clip", 13), "Clip(%0, float32[] 0)");
  EXPECT_EQ(exported({"clip", {"int32[2]"}, {{"min", rational(1, 2)}}}, "Clip", 13), "cannot export a fraction as the bound of integers");
}

TEST(Clip, ReadsConstantBoundsAlone) {
  ir::Arena arena;
  const ir::TensorType x = parse_type(arena.symbols(), "float32[2]");
  const ir::TensorType scalar = parse_type(arena.symbols(), "float32[]");
  FakeOnnxNode open(arena.symbols(), "Clip", 13);
  EXPECT_EQ(lifted(open.input(x).input(scalar), arena), "the bounds of Clip are not known before the run");
  FakeOnnxNode old(arena.symbols(), "Clip", 6);
  EXPECT_EQ(lifted(old.input(x).attribute("min", 0.5F).attribute("max", std::numeric_limits<float>::max()), arena),
            "clip(float32[2]) {max: inf, min: 1/2}");
  const std::int64_t low = -3;
  FakeOnnxNode integers(arena.symbols(), "Clip", 12);
  integers.input(parse_type(arena.symbols(), "int32[2]")).input(ir::make_integer_constant(ir::DataType::int32, {}, std::span(&low, 1)));
  EXPECT_EQ(lifted(integers, arena), "clip(int32[2]) {max: inf, min: -3}");
}

TEST(Dropout, IsReadAtInferenceAlone) {
  ir::Arena arena;
  const ir::TensorType x = parse_type(arena.symbols(), "float32[2]");
  const auto training = [](std::int64_t value) {
    return ir::make_integer_constant(ir::DataType::boolean, {}, std::span<const std::int64_t>(&value, 1));
  };
  FakeOnnxNode mask(arena.symbols(), "Dropout", 10);
  EXPECT_EQ(lifted(mask.input(x).outputs(2), arena), "the mask of Dropout is used");
  FakeOnnxNode on(arena.symbols(), "Dropout", 13);
  EXPECT_EQ(lifted(on.input(x).absent().input(training(1)), arena), "Dropout in training mode is random");
  FakeOnnxNode unknown(arena.symbols(), "Dropout", 13);
  EXPECT_EQ(lifted(unknown.input(x).absent().input(parse_type(arena.symbols(), "bool[]")), arena),
            "the training mode of Dropout is not known before the run");
  FakeOnnxNode off(arena.symbols(), "Dropout", 13);
  EXPECT_EQ(lifted(off.input(x).absent().input(training(0)), arena), "dropout(float32[2])");
}

TEST(Cast, DoesNotReadTypesWithoutArithmetic) {
  ir::Arena arena;
  FakeOnnxNode node(arena.symbols(), "Cast", 19);
  node.input(parse_type(arena.symbols(), "float32[2]")).attribute("to", static_cast<std::int64_t>(ir::DataType::float8e5m2));
  EXPECT_EQ(lifted(node, arena), "a cast from float32 to float8e5m2 has no arithmetic");
}

TEST(Add, IsSumOfTwoInputs) {
  ir::Arena arena;
  const ir::TensorType x = parse_type(arena.symbols(), "float32[2]");
  FakeOnnxNode two(arena.symbols(), "Sum", 13);
  EXPECT_EQ(lifted(two.input(x).input(x), arena), "add(float32[2], float32[2])");
  FakeOnnxNode three(arena.symbols(), "Sum", 13);
  EXPECT_EQ(lifted(three.input(x).input(x).input(x), arena), "3 inputs are a composition");
}

TEST(HardSigmoid, HasOnnxDefaultsRoundedAsOnnxRoundsThem) {
  ir::Arena arena;
  FakeOnnxNode node(arena.symbols(), "HardSigmoid", 6);
  const auto id =
      lift(arena, node.input(parse_type(arena.symbols(), "float32[2]")), {arena.input(parse_type(arena.symbols(), "float32[2]"), 0)});
  ASSERT_TRUE(id);
  EXPECT_EQ(arena.node(*id).attributes.real("alpha"), ir::Real::from_double(0.2F));
  EXPECT_TRUE(rational(1, 5).nearest_in_type(arena.node(*id).attributes.real("alpha").to_double(), 24));
}

TEST(Pointwise, HasAKernelOfItsName) {
  ir::Arena arena;
  const auto id = make_node(arena, {"clip", {"float32[2, 3]"}, {{"min", ir::Real(0)}, {"max", ir::Real(6)}}});
  const ir::Node& node = arena.node(id.value());
  const std::vector<ir::TensorType> types = operand_types(arena, node);
  const auto kernel = get(node.op).kernel(Operation{types, node.attributes, node.outputs});
  ASSERT_TRUE(kernel) << kernel.error().text();
  EXPECT_EQ(to_string(*kernel), "pointwise/clip(float32[2,3]) -> float32[2,3] min=0 max=6");
}

TEST(Pointwise, HasNoKernelWithUnknownDimensions) {
  ir::Arena arena;
  const auto id = make_node(arena, {"relu", {"float32[N]"}, {}});
  const ir::Node& node = arena.node(id.value());
  const std::vector<ir::TensorType> types = operand_types(arena, node);
  EXPECT_EQ(get(node.op).kernel(Operation{types, node.attributes, node.outputs}).error().text(),
            "cannot describe a kernel: a dimension is not known");
}

}  // namespace
}  // namespace xflow::ops
