#include "src/ops/operator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "tests/ops/examples.h"
#include "tests/ops/made_kernel.h"
#include "tests/places.h"

namespace xflow::ops {
namespace {

// All that an operator defines; an operator without one of the parts does not compile.
struct Complete {
  static Signature signature();
  static Result<std::vector<ir::TensorType>> type(Typing& typing, const Operation& operation);
  static FloatEffect float_effect();
  static Expr semantics(Builder& builder, const Operation& operation, int output, std::span<const ir::Poly> index);
  static std::vector<OnnxMapping> onnx_mappings();
  static Result<KernelSpec> kernel(const Operation& operation);
};
struct WithoutSignature : Complete {
  static Signature signature() = delete;
};
struct WithoutType : Complete {
  static Result<std::vector<ir::TensorType>> type(Typing& typing, const Operation& operation) = delete;
};
struct WithoutFloatEffect : Complete {
  static FloatEffect float_effect() = delete;
};
struct WithoutMeaning : Complete {
  static Expr semantics(Builder& builder, const Operation& operation, int output, std::span<const ir::Poly> index) = delete;
};
struct WithoutFunctionGraphs : Complete {
  static std::vector<OnnxMapping> onnx_mappings() = delete;
};
struct WithoutKernel : Complete {
  static Result<KernelSpec> kernel(const Operation& operation) = delete;
};
struct WithEffectOfAnotherType : Complete {
  static FloatError float_effect();
};
template <typename T>
concept IsDefined = requires {
  make_operator<T, Op{}>();
};
static_assert(IsDefined<Complete>);
static_assert(!IsDefined<WithoutSignature>);
static_assert(!IsDefined<WithoutType>);
static_assert(!IsDefined<WithoutFloatEffect>);
static_assert(!IsDefined<WithEffectOfAnotherType>);
static_assert(!IsDefined<WithoutMeaning>);
static_assert(!IsDefined<WithoutFunctionGraphs>);
static_assert(!IsDefined<WithoutKernel>);

TEST(Registry, IsInTheOrderOfNames) {
  const auto operators = all_operators();
  EXPECT_TRUE(std::is_sorted(operators.begin(), operators.end(),
                             [](const Operator& a, const Operator& b) { return a.signature.name < b.signature.name; }));
  std::set<std::string_view> names;
  for (std::size_t k = 0; k < operators.size(); ++k) {
    const std::string_view name = operators[k].signature.name;
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(id_of(name), static_cast<ir::OperatorId>(k));
    EXPECT_EQ(&get(id_of(name)), &operators[k]);
  }
  EXPECT_FALSE(find_operator("no_such_operator"));
}

TEST(Registry, ListsOperatorsAlphabetically) {
  std::ifstream file(places::repository() + "/src/ops/ops.def");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("XFLOW_OPERATOR(")) lines.push_back(line);
  }
  EXPECT_EQ(lines.size(), all_operators().size());
  EXPECT_TRUE(std::is_sorted(lines.begin(), lines.end()));
}

// A row of an operator is the only one of that operator for its ONNX operator and opset.
TEST(OnnxMappings, DoNotOverlap) {
  for (const Operator& op : all_operators()) {
    const std::vector<OnnxMapping> rows = op.onnx_mappings();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_LE(rows[i].since, rows[i].until) << rows[i].type;
      for (std::size_t j = i + 1; j < rows.size(); ++j) {
        if (rows[i].domain != rows[j].domain || rows[i].type != rows[j].type) continue;
        EXPECT_TRUE(rows[i].until < rows[j].since || rows[j].until < rows[i].since) << op.signature.name << ": " << rows[i].type;
      }
    }
  }
}

TEST(Signatures, DeclareWhatRulesAskOfAttributes) {
  const auto declared = [](const auto& is) {
    std::set<std::string> result;
    for (const Operator& op : all_operators())
      for (const AttributeSignature& attribute : op.signature.attributes)
        if (is(attribute)) result.insert(std::string(op.signature.name) + "." + std::string(attribute.name));
    return result;
  };
  using Names = std::set<std::string>;
  EXPECT_EQ(declared([](const AttributeSignature& a) { return a.permutation; }), Names{"transpose.perm"});
  EXPECT_EQ(declared([](const AttributeSignature& a) { return a.per_dimension; }),
            (Names{"pad.begins", "pad.ends", "slice.sizes", "slice.starts", "slice.steps", "tile.repeats", "transpose.perm"}));
  for (const Operator& op : all_operators()) {
    for (const AttributeSignature& a : op.signature.attributes) {
      EXPECT_TRUE(!a.flag || a.kind == AttributeKind::integer) << op.signature.name << "." << a.name;
      EXPECT_TRUE(!a.per_dimension || a.kind == AttributeKind::integers) << op.signature.name << "." << a.name;
      EXPECT_TRUE(!a.permutation || a.per_dimension) << op.signature.name << "." << a.name;
    }
  }
}

TEST(Signatures, HaveDefaultsOfTheirKind) {
  for (const Operator& op : all_operators()) {
    ir::Attributes attributes;
    for (const AttributeSignature& attribute : op.signature.attributes) {
      if (attribute.default_value) {
        EXPECT_EQ(attribute.default_value->index(), static_cast<std::size_t>(attribute.kind)) << op.signature.name << " " << attribute.name;
      }
    }
  }
}

TEST(Apply, MakesEqualOperationsOneNode) {
  ir::Arena arena;
  const auto x = arena.input(parse_type(arena.symbols(), "float32[N, 4]"), 0);
  EXPECT_EQ(apply(arena, "softmax", {x}, {{"axis", ir::Poly(-1)}}).value(), apply(arena, "softmax", {x}, {{"axis", ir::Poly(1)}}).value());
  EXPECT_EQ(apply(arena, "softmax", {x}).value(), apply(arena, "softmax", {x}, {{"axis", ir::Poly(1)}}).value());
  EXPECT_NE(apply(arena, "softmax", {x}).value(), apply(arena, "softmax", {x}, {{"axis", ir::Poly(0)}}).value());
}

TEST(Apply, RepeatsAnElementForAllSpatialDimensions) {
  ir::Arena arena;
  const auto x = arena.input(parse_type(arena.symbols(), "float32[N, 4, H, W]"), 0);
  const auto w = arena.input(parse_type(arena.symbols(), "float32[8, 4, 3, 3]"), 1);
  EXPECT_EQ(apply(arena, "conv", {x, w}, {{"pads", list({1})}}).value(),
            apply(arena, "conv", {x, w}, {{"pads", list({1, 1, 1, 1})}, {"strides", list({1, 1})}}).value());
}

TEST(Apply, SaysWhatItExpected) {
  ir::Arena arena;
  const auto unranked = arena.input(ir::TensorType::unranked(ir::DataType::float32), 0);
  EXPECT_EQ(apply(arena, "relu", {unranked}).error().text(), "relu: expected the rank of operand 'x' to be known");
  EXPECT_EQ(apply(arena, "rellu", {unranked}).error().text(), "unknown operator 'rellu'");
  const ir::Poly axis(arena.symbols().named(ir::SymbolKind::parameter, "a"));
  const auto x = arena.input(parse_type(arena.symbols(), "float32[N]"), 1);
  EXPECT_EQ(apply(arena, "softmax", {x}, {{"axis", axis}}).error().text(), "softmax: expected attribute 'axis' to be a known integer");
}

// Whoever types a rule sees the requirements with their reasons.
TEST(Typing, CanRecordWhatATypeRuleRequires) {
  class Recorder : public Typing {
   public:
    using Typing::Typing;
    Result<void> require_equal(const ir::Poly& a, const ir::Poly& b, std::string_view what) override {
      texts.push_back(symbols().to_string(a) + " = " + symbols().to_string(b) + ": " + std::string(what));
      return {};
    }
    Result<void> require_at_least_zero(const ir::Poly& a, std::string_view what) override {
      texts.push_back(symbols().to_string(a) + " >= 0: " + std::string(what));
      return {};
    }
    std::vector<std::string> texts;
  };
  ir::Arena arena;
  Recorder typing(arena.symbols());
  const auto a = arena.input(parse_type(arena.symbols(), "float32[M, K]"), 0);
  const auto b = arena.input(parse_type(arena.symbols(), "float32[L, N]"), 1);
  ASSERT_TRUE(apply(arena, typing, id_of("matmul"), {a, b}, {}));
  EXPECT_EQ(typing.texts, std::vector<std::string>{"K = L: the inner dimensions to be equal"});
}

TEST(KernelSpec, IsOneLine) {
  const TensorSpec x{ir::DataType::float32, {1, 3}, false};
  const TensorSpec w{ir::DataType::float32, {3, 2}, true};
  const TensorSpec y{ir::DataType::float32, {1, 2}, false};
  KernelSpec spec = ops::kernel_named("matmul");
  spec.operands = {x, w};
  spec.results = {y};
  spec.integers = {{"pads", {1, 2}}};
  spec.reals = {{"alpha", 0.1}};
  spec.post = {ops::made_step("clip", {0, 6}), ops::made_step("add", {}, {y})};
  EXPECT_EQ(to_string(spec),
            "matmul(float32[1,3], const float32[3,2]) -> float32[1,2] pads=[1,2] alpha=0.1 | clip{0,6} | add(float32[1,2])");
  EXPECT_EQ(*spec.find("pads"), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(spec.find("strides"), nullptr);
}

}  // namespace
}  // namespace xflow::ops
