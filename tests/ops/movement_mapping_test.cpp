// How the operators that move data stand in ONNX.
#include <gtest/gtest.h>

#include <limits>

#include "src/ops/kernel_text.h"
#include "tests/ops/examples.h"

namespace xflow::ops {
namespace {

using ir::Poly;

constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();

ir::TensorType type(ir::Arena& arena, std::string_view text) { return parse_type(arena.symbols(), text); }

ir::Constant floats(std::vector<double> values) {
  const auto size = static_cast<std::int64_t>(values.size());
  return *ir::make_constant(ir::DataType::float32, {size}, values);
}

TEST(MovementExport, IsReadAsItIsWrittenInEveryOpset) {
  const std::vector<Example> examples = {
      {"transpose", {"float32[N, 3, 4]"}, {{"perm", list({2, 0, 1})}}},
      {"reshape", {"float32[N, 3, 4]"}, {{"shape", list({6, 2})}}},
      {"reshape", {"float32[0, 3]"}, {{"shape", list({0, 5})}}},
      {"reshape", {"float32[0, 3]"}, {{"shape", list({3, 0})}}},
      {"concat", {"float32[N, 3]", "float32[N, 4]", "float32[N, 5]"}, {{"axis", Poly(1)}}},
      {"split", {"float32[N, 7]"}, {{"axis", Poly(1)}, {"sizes", list({3, 4})}}},
      {"slice", {"float32[N, 9]"}, {{"starts", list({0, 1})}, {"sizes", list({1, 7})}, {"steps", list({1, 1})}}},
      {"slice", {"float32[8, 9]"}, {{"starts", list({7, 1})}, {"sizes", list({8, 4})}, {"steps", list({-1, 2})}}},
      {"slice", {"float32[8]"}, {{"starts", list({0})}, {"sizes", list({8})}, {"steps", list({1})}}},
      {"slice", {"float32[8]"}, {{"starts", list({6})}, {"sizes", list({3})}, {"steps", list({-2})}}},
      {"pad", {"float32[N, 4]"}, {{"begins", list({0, 1})}, {"ends", list({2, 0})}, {"value", ir::Real(2)}}},
      {"pad", {"int64[3]"}, {{"begins", list({1})}, {"ends", list({2})}, {"value", ir::Real(-7)}}},
      {"pad", {"bool[3]"}, {{"begins", list({1})}, {"ends", list({2})}, {"value", ir::Real(1)}}},
      {"pad", {"float32[4]"}, {{"begins", list({1})}, {"ends", list({2})}, {"mode", std::string("reflect")}}},
      {"pad", {"float32[4]"}, {{"begins", list({1})}, {"ends", list({2})}, {"mode", std::string("edge")}}},
      {"pad", {"float32[4]"}, {{"begins", list({1})}, {"ends", list({2})}, {"mode", std::string("wrap")}}},
      {"expand", {"float32[N, 1]"}, {{"shape", list({3, 2, 5})}}},
      {"tile", {"float32[N, 1]"}, {{"repeats", list({1, 5})}}},
      {"gather", {"float32[N, 7]", "int64[3]"}, {{"axis", Poly(1)}}},
      {"gather_elements", {"float32[N, 7]", "int32[N, 2]"}, {{"axis", Poly(1)}}},
      {"gather_nd", {"float32[4, 5, 7]", "int64[4, 3, 1]"}, {{"batch", Poly(1)}}},
      {"gather_nd", {"float32[4, 5, 7]", "int64[3, 2]"}, {}},
      {"shape", {"float32[N, 7]"}, {{"start", Poly(0)}, {"end", Poly(2)}}},
      {"shape", {"float32[N, 7, 8]"}, {{"start", Poly(1)}, {"end", Poly(2)}}},
      {"size", {"float32[N, 7]"}, {}},
      {"range", {}, {{"start", Poly(3)}, {"step", Poly(-2)}, {"size", Poly(4)}}},
      {"range", {}, {{"size", Poly(4)}, {"data_type", ir::DataType::float32}}},
      {"range", {}, {{"size", Poly(4)}, {"data_type", ir::DataType::int32}}},
      {"full", {}, {{"value", *ir::Rational::make(1, 2)}, {"shape", list({2, 3})}}},
      {"full", {}, {{"value", ir::Real(7)}, {"shape", list({})}, {"data_type", ir::DataType::int64}}},
      {"resize", {"float32[1, 2, 5, 7]"}, {{"numerators", list({1, 1, 2, 3})}, {"denominators", list({1, 1, 1, 2})}}},
      {"resize", {"float32[4, 6]"}, {{"numerators", list({7, 1})}, {"denominators", list({4, 1})}, {"mode", std::string("linear")}}},
      {"resize",
       {"float32[3, 6]"},
       {{"numerators", list({7, 1})},
        {"denominators", list({3, 2})},
        {"coordinates", std::string("half_pixel")},
        {"rounding", std::string("round_prefer_ceil")}}},
      {"resize",
       {"float32[N]"},
       {{"numerators", list({2})},
        {"denominators", list({1})},
        {"coordinates", std::string("align_corners")},
        {"mode", std::string("linear")}}},
      {"resize",
       {"float32[5]"},
       {{"numerators", list({1})}, {"denominators", list({2})}, {"coordinates", std::string("half_pixel_symmetric")}}},
      {"resize",
       {"float32[5]"},
       {{"numerators", list({1})}, {"denominators", list({5})}, {"coordinates", std::string("pytorch_half_pixel")}}},
      {"depth_to_space", {"float32[N, 8, 2, 2]"}, {{"block", Poly(2)}}},
      {"depth_to_space", {"float32[N, 8, 2, 2]"}, {{"block", Poly(2)}, {"order", std::string("column_first")}}},
      {"space_to_depth", {"float32[N, 8, 2, 2]"}, {{"block", Poly(2)}}},
      {"one_hot", {"int64[N, 3]"}, {{"axis", Poly(1)}, {"depth", Poly(5)}, {"on", ir::Real(2)}, {"off", ir::Real(-1)}}},
      {"one_hot", {"int64[N]"}, {{"axis", Poly(1)}, {"depth", Poly(5)}, {"data_type", ir::DataType::boolean}}},
      {"trilu", {"float32[N, 4, 4]"}, {{"diagonal", Poly(-1)}, {"upper", Poly(0)}}},
      {"trilu", {"float32[4, 4]"}, {}},
  };
  for (const Example& example : examples) expect_round_trips(example);
}

TEST(ReshapeExport, ReadsZeroAndMinusOne) {
  ir::Arena arena;
  const auto read = [&](int opset, std::initializer_list<std::int64_t> shape, std::int64_t allow_zero = 0) {
    return lifted(FakeOnnxNode(arena.symbols(), "Reshape", opset)
                      .input(type(arena, "float32[N, 6, H]"))
                      .input(list(shape))
                      .attribute("allowzero", allow_zero),
                  arena);
  };
  EXPECT_EQ(read(11, {0, -1}), "reshape(float32[N, 6, H]) {shape: [N, 6*H]}");
  EXPECT_EQ(read(14, {0, 2, 3, -1}), "reshape(float32[N, 6, H]) {shape: [N, 2, 3, H]}");
  EXPECT_EQ(read(14, {-1, 4}), "reshape(float32[N, 6, H]) {shape: [N*H + floor((N*H)/2), 4]}");
  EXPECT_EQ(read(14, {0, -1}, 1), "cannot infer a dimension of a tensor without elements");
  EXPECT_EQ(read(14, {-1, -1}), "expected at most one -1 in the shape of Reshape");
  EXPECT_EQ(lifted(FakeOnnxNode(arena.symbols(), "Reshape", 14).input(type(arena, "float32[N]")).input(type(arena, "int64[1]")), arena),
            "cannot lift Reshape with a shape that is not known");
}

TEST(ReshapeExport, WritesSymbolicSizesWithoutComputingThem) {
  ir::Arena arena;
  const auto dim = [&](const char* name) { return Poly(arena.symbols().named(ir::SymbolKind::dimension, name)); };
  const auto write = [&](std::string_view from, ir::Shape shape) {
    const auto x = arena.input(type(arena, from), 0);
    const auto y = apply(arena, "reshape", {x}, {{"shape", std::move(shape)}});
    const ir::Node& node = arena.node(y->node);
    const auto types = operand_types(arena, node);
    const auto row = rows_for("", "Reshape", 11)[0];
    const auto exported = row.mapping.to_onnx(Operation{types, node.attributes, node.outputs}, 11);
    return arena.symbols().to_string(std::get<Exported::IntegersInput>(exported->inputs[1]).values);
  };
  EXPECT_EQ(write("float32[N, H, 4]", {dim("N"), 4 * dim("H")}), "[0, -1]");
  EXPECT_EQ(write("float32[N, 4, H]", {4, dim("N"), dim("H")}), "[4, -1, 0]");
  EXPECT_EQ(write("float32[N, 4, H]", {dim("H"), 4, dim("N")}), "[H, 4, N]");
}

TEST(ReshapeExport, ReadsFlattenSqueezeAndUnsqueeze) {
  ir::Arena arena;
  const auto read = [&](const char* op, int opset, std::string_view x, std::vector<std::int64_t> axes, bool as_input) {
    FakeOnnxNode node(arena.symbols(), op, opset);
    node.input(type(arena, x));
    if (as_input) {
      node.input(ir::polys(axes));
    } else {
      node.attribute("axes", axes);
    }
    return lifted(node, arena);
  };
  EXPECT_EQ(lifted(FakeOnnxNode(arena.symbols(), "Flatten", 13).input(type(arena, "float32[N, 3, H]")), arena),
            "reshape(float32[N, 3, H]) {shape: [N, 3*H]}");
  EXPECT_EQ(
      lifted(FakeOnnxNode(arena.symbols(), "Flatten", 13).input(type(arena, "float32[N, 3, H]")).attribute("axis", std::int64_t{0}), arena),
      "reshape(float32[N, 3, H]) {shape: [1, 3*N*H]}");
  EXPECT_EQ(read("Squeeze", 11, "float32[N, 1, H, 1]", {-1}, false), "reshape(float32[N, 1, H, 1]) {shape: [N, 1, H]}");
  EXPECT_EQ(read("Squeeze", 13, "float32[N, 1, H, 1]", {1, 3}, true), "reshape(float32[N, 1, H, 1]) {shape: [N, H]}");
  EXPECT_EQ(read("Unsqueeze", 11, "float32[N, H]", {0, -1}, false), "reshape(float32[N, H]) {shape: [1, N, H, 1]}");
  EXPECT_EQ(read("Unsqueeze", 13, "float32[N, H]", {1}, true), "reshape(float32[N, H]) {shape: [N, 1, H]}");
  EXPECT_EQ(lifted(FakeOnnxNode(arena.symbols(), "Squeeze", 13).input(type(arena, "float32[2, 1]")), arena),
            "reshape(float32[2, 1]) {shape: [2]}");
  EXPECT_EQ(lifted(FakeOnnxNode(arena.symbols(), "Squeeze", 13).input(type(arena, "float32[N, 1]")), arena),
            "cannot lift Squeeze of [N, 1] without axes");
}

TEST(SliceExport, ReadsBoundsAsOnnxClampsThem) {
  ir::Arena arena;
  const auto read = [&](std::string_view x, std::int64_t start, std::int64_t end, std::int64_t step) {
    return lifted(FakeOnnxNode(arena.symbols(), "Slice", 13)
                      .input(type(arena, x))
                      .input(list({start}))
                      .input(list({end}))
                      .input(list({-1}))
                      .input(list({step})),
                  arena);
  };
  EXPECT_EQ(read("float32[10]", 2, 100, 3), "slice(float32[10]) {sizes: [3], starts: [2], steps: [3]}");
  EXPECT_EQ(read("float32[10]", -3, -1, 1), "slice(float32[10]) {sizes: [2], starts: [7], steps: [1]}");
  EXPECT_EQ(read("float32[10]", 20, 30, 1), "slice(float32[10]) {sizes: [0], starts: [0], steps: [1]}");
  EXPECT_EQ(read("float32[10]", -1, -kLast - 1, -1), "slice(float32[10]) {sizes: [10], starts: [9], steps: [-1]}");
  EXPECT_EQ(read("float32[10]", 100, 0, -4), "slice(float32[10]) {sizes: [3], starts: [9], steps: [-4]}");
  EXPECT_EQ(read("float32[2, N]", 0, kLast, 1), "slice(float32[2, N]) {sizes: [2, N], starts: [0, 0], steps: [1, 1]}");
  EXPECT_EQ(read("float32[N]", 1, kLast, 1), "slice(float32[N]) {sizes: [N - 1], starts: [1], steps: [1]}");
  EXPECT_EQ(read("float32[N]", 0, -1, 1), "slice(float32[N]) {sizes: [N - 1], starts: [0], steps: [1]}");
  EXPECT_EQ(read("float32[N]", -1, kLast, 1), "slice(float32[N]) {sizes: [1], starts: [N - 1], steps: [1]}");
  EXPECT_EQ(read("float32[N]", -1, -kLast - 1, -1), "slice(float32[N]) {sizes: [N], starts: [N - 1], steps: [-1]}");
  EXPECT_EQ(read("float32[N]", 0, kLast, 2), "slice(float32[N]) {sizes: [floor((N + 1)/2)], starts: [0], steps: [2]}");
  EXPECT_EQ(read("float32[N]", 0, 5, 1), "slice(float32[N]) {sizes: [-max(0, -N + 5) + 5], starts: [0], steps: [1]}");
  EXPECT_EQ(read("float32[N]", -kLast - 1, -2, 1), "slice(float32[N]) {sizes: [N + max(0, -N + 2) - 2], starts: [0], steps: [1]}");
  EXPECT_EQ(read("float32[10]", 1, 2, 0), "expected steps other than 0");
}

TEST(SliceExport, OfDynamicSizesSelectsWhatNumpyDoes) {
  // Every constant start and end of a dynamic dimension, evaluated at small sizes.
  ir::Arena arena;
  const ir::SymbolId n = arena.symbols().named(ir::SymbolKind::dimension, "N");
  for (const std::int64_t step : {1, 2, 3, -1, -2}) {
    for (std::int64_t start = -5; start <= 5; ++start) {
      for (std::int64_t end = -5; end <= 5; ++end) {
        const FakeOnnxNode node = FakeOnnxNode(arena.symbols(), "Slice", 13)
                                      .input(type(arena, "float32[N]"))
                                      .input(list({start}))
                                      .input(list({end}))
                                      .absent()
                                      .input(list({step}));
        const auto operation = lift(arena, node, {arena.input(node.input_type(0), 0)});
        ASSERT_TRUE(operation) << operation.error().text();
        const ir::Attributes& attributes = arena.node(*operation).attributes;
        for (std::int64_t size = 1; size <= 4; ++size) {
          SCOPED_TRACE(testing::Message() << "x[" << start << ":" << end << ":" << step << "] of " << size);
          std::vector<std::int64_t> expected;
          const auto clamp = [&](std::int64_t bound, std::int64_t low, std::int64_t high) {
            return std::clamp(bound < 0 ? bound + size : bound, low, high);
          };
          if (step > 0) {
            for (std::int64_t k = clamp(start, 0, size); k < clamp(end, 0, size); k += step) expected.push_back(k);
          } else {
            for (std::int64_t k = clamp(start, 0, size - 1); k > clamp(end, -1, size - 1); k += step) expected.push_back(k);
          }
          const auto value = [&](const char* name) {
            return *arena.symbols().evaluate(attributes.integers(name)[0],
                                             [&](ir::SymbolId s) { return s == n ? std::optional(size) : std::nullopt; });
          };
          std::vector<std::int64_t> found;
          for (std::int64_t k = 0; k < value("sizes"); ++k) found.push_back(value("starts") + k * value("steps"));
          EXPECT_EQ(found, expected);
        }
      }
    }
  }
}

TEST(SliceExport, ReadsAttributesBeforeOpset10) {
  ir::Arena arena;
  EXPECT_EQ(lifted(FakeOnnxNode(arena.symbols(), "Slice", 9)
                       .input(type(arena, "float32[4, 5]"))
                       .attribute("starts", std::vector<std::int64_t>{1})
                       .attribute("ends", std::vector<std::int64_t>{-1})
                       .attribute("axes", std::vector<std::int64_t>{1}),
                   arena),
            "slice(float32[4, 5]) {sizes: [4, 3], starts: [0, 1], steps: [1, 1]}");
  const Example steps{"slice", {"float32[8]"}, {{"starts", list({0})}, {"sizes", list({4})}, {"steps", list({2})}}};
  EXPECT_EQ(exported(steps, "Slice", 9), "cannot write symbolic bounds or steps as attributes of Slice");
  EXPECT_EQ(exported(steps, "Slice", 10), "Slice(%0, [0], [8], [0], [2])");
}

TEST(SplitExport, ReadsEqualParts) {
  ir::Arena arena;
  const auto read = [&](int opset, std::string_view x, std::size_t outputs) {
    return lifted(FakeOnnxNode(arena.symbols(), "Split", opset).input(type(arena, x)).outputs(outputs), arena);
  };
  EXPECT_EQ(read(11, "float32[6, 5]", 3), "split(float32[6, 5]) {axis: 0, sizes: [2, 2, 2]}");
  EXPECT_EQ(read(13, "float32[2*N]", 2), "split(float32[2*N]) {axis: 0, sizes: [N, N]}");
  EXPECT_EQ(read(13, "float32[N]", 2), "cannot lift Split of N into 2 equal parts");
  EXPECT_EQ(read(13, "float32[7]", 2), "expected 2 to divide the dimension of Split, which is 7");
  EXPECT_EQ(read(18, "float32[7]", 2), "split(float32[7]) {axis: 0, sizes: [4, 3]}");
}

TEST(SplitExport, TakesNoMemoryForPartsThatNoModelHas) {
  ir::Arena arena;
  EXPECT_EQ(lifted(FakeOnnxNode(arena.symbols(), "Split", 18).input(type(arena, "float32[0]")).attribute("num_outputs", kLast), arena),
            "cannot lift Split into 9223372036854775807 parts");
}

TEST(SplitExport, IsAnAttributeBeforeOpset13) {
  const Example example{"split", {"float32[7]"}, {{"axis", Poly(0)}, {"sizes", list({3, 4})}}};
  EXPECT_EQ(exported(example, "Split", 12), "Split(%0) {axis: 0, split: [3, 4]}");
  EXPECT_EQ(exported(example, "Split", 13), "Split(%0, [3, 4]) {axis: 0}");
}

TEST(PadExport, ReadsAxesAndRefusesWhatMayShrink) {
  ir::Arena arena;
  EXPECT_EQ(lifted(FakeOnnxNode(arena.symbols(), "Pad", 18)
                       .input(type(arena, "float32[2, 3]"))
                       .input(list({1, 2}))
                       .input(floats({5}))
                       .input(list({-1})),
                   arena),
            "pad(float32[2, 3]) {begins: [0, 1], ends: [0, 2], mode: constant, value: 5}");
  EXPECT_EQ(lifted(FakeOnnxNode(arena.symbols(), "Pad", 11).input(type(arena, "float32[3]")).input(list({-1, 2})), arena),
            "cannot lift Pad by -1, which may be negative");
  EXPECT_EQ(lifted(FakeOnnxNode(arena.symbols(), "Pad", 11).input(type(arena, "float32[3]")).input(list({1, 2, 3})), arena),
            "expected 2 pads, found 3");
  const Example wrap{"pad", {"float32[4]"}, {{"begins", list({1})}, {"ends", list({2})}, {"mode", std::string("wrap")}}};
  EXPECT_EQ(exported(wrap, "Pad", 18), "cannot write Pad in mode wrap before opset 19");
}

TEST(ExpandExport, BroadcastsBothWays) {
  ir::Arena arena;
  EXPECT_EQ(lifted(FakeOnnxNode(arena.symbols(), "Expand", 13).input(type(arena, "float32[N, 1, 4]")).input(list({1, 3, 1})), arena),
            "expand(float32[N, 1, 4]) {shape: [N, 3, 4]}");
}

TEST(RangeExport, CountsElements) {
  ir::Arena arena;
  const Poly n = arena.symbols().named(ir::SymbolKind::dimension, "N");
  const auto read = [&](Poly start, Poly limit, Poly delta) {
    return lifted(FakeOnnxNode(arena.symbols(), "Range", 11)
                      .input(std::vector{std::move(start)}, true)
                      .input(std::vector{std::move(limit)}, true)
                      .input(std::vector{std::move(delta)}, true),
                  arena);
  };
  EXPECT_EQ(read(10, 4, -4), "range() {data_type: int64, size: 2, start: 10, step: -4}");
  EXPECT_EQ(read(0, n, 1), "range() {data_type: int64, size: N, start: 0, step: 1}");
  EXPECT_EQ(read(5, 5, 1), "range() {data_type: int64, size: 0, start: 5, step: 1}");
  EXPECT_EQ(read(5, 6, n), "cannot lift Range with a step that is not known");
}

TEST(ResizeExport, ReadsScalesAndSizes) {
  ir::Arena arena;
  const Poly h = arena.symbols().named(ir::SymbolKind::dimension, "H");
  const auto node = [&](int opset, std::string_view x) {
    FakeOnnxNode fake(arena.symbols(), "Resize", opset);
    fake.input(type(arena, x)).absent();
    return fake;
  };
  EXPECT_EQ(
      lifted(node(13, "float32[N, H]").input(floats({1, 2})).attribute("coordinate_transformation_mode", std::string("asymmetric")), arena),
      "resize(float32[N, H]) {coordinates: asymmetric, denominators: [1, 1], mode: nearest, numerators: [1, 2], "
      "rounding: round_prefer_floor}");
  EXPECT_EQ(lifted(node(13, "float32[H, 4]").absent().input({3 * h, Poly(6)}).attribute("mode", std::string("linear")), arena),
            "resize(float32[H, 4]) {coordinates: half_pixel, denominators: [1, 2], mode: linear, numerators: [3, 3], rounding: floor}");
  EXPECT_EQ(
      lifted(node(13, "float32[4]").input(floats({2})).attribute("coordinate_transformation_mode", std::string("pytorch_half_pixel")),
             arena),
      "resize(float32[4]) {coordinates: half_pixel, denominators: [1], mode: nearest, numerators: [2], rounding: round_prefer_floor}");
  EXPECT_EQ(lifted(node(13, "float32[4]").input(floats({2})).attribute("mode", std::string("cubic")), arena),
            "cannot lift Resize in mode cubic");
  EXPECT_EQ(lifted(node(13, "float32[10]").input(floats({0.7F})), arena), "cannot lift Resize of 10 by 11744051/16777216, which rounds");
  EXPECT_EQ(lifted(node(13, "float32[N]").input(floats({0.7F})), arena), "cannot lift Resize of a dynamic dimension by 11744051/16777216");
  EXPECT_EQ(lifted(FakeOnnxNode(arena.symbols(), "Resize", 10).input(type(arena, "float32[4]")).input(floats({0.5})), arena),
            "cannot lift Resize that shrinks");
}

TEST(ResizeExport, GrowsInUpsampleToo) {
  ir::Arena arena;
  EXPECT_EQ(lifted(FakeOnnxNode(arena.symbols(), "Upsample", 7).input(type(arena, "float32[4]")).attribute("scales", std::vector<float>{2}),
                   arena),
            "resize(float32[4]) {coordinates: asymmetric, denominators: [1], mode: nearest, numerators: [2], rounding: floor}");
  const Example twice{"resize", {"float32[4]"}, {{"numerators", list({2})}, {"denominators", list({1})}}};
  EXPECT_EQ(exported(twice, "Upsample", 8), "Upsample(%0) {mode: nearest, scales: [2]}");
  EXPECT_EQ(exported(twice, "Upsample", 9), "Upsample(%0, float32[1] 2) {mode: nearest}");
  EXPECT_EQ(exported(twice, "Resize", 11),
            "Resize(%0, float32[0] , float32[1] 2) {coordinate_transformation_mode: asymmetric, mode: nearest, nearest_mode: floor}");
}

TEST(MovementKernel, IsACopyThatNamesItsOperator) {
  const auto kernel = [](const Example& example) {
    ir::Arena arena;
    const auto id = make_node(arena, example);
    const ir::Node& node = arena.node(*id);
    const auto types = operand_types(arena, node);
    const auto spec = get(node.op).kernel(Operation{types, node.attributes, node.outputs});
    return spec ? to_string(*spec) : spec.error().text();
  };
  EXPECT_EQ(kernel({"transpose", {"float32[2, 3]"}, {{"perm", list({1, 0})}}}), "copy:transpose(float32[2,3]) -> float32[3,2] perm=[1,0]");
  EXPECT_EQ(kernel({"reshape", {"float32[2, 3]"}, {{"shape", list({6})}}}), "none(float32[2,3]) -> float32[6]");
  EXPECT_EQ(kernel({"pad", {"float32[3]"}, {{"begins", list({1})}, {"ends", list({0})}, {"mode", std::string("edge")}}}),
            "copy:pad/edge(float32[3]) -> float32[4] begins=[1] ends=[0] value=0");
  EXPECT_EQ(kernel({"split", {"float32[3]"}, {{"axis", Poly(0)}, {"sizes", list({1, 2})}}}),
            "copy:split(float32[3]) -> float32[1], float32[2] axis=[0] sizes=[1,2]");
  EXPECT_EQ(kernel({"tile", {"float32[N]"}, {{"repeats", list({2})}}}), "cannot describe a kernel: a dimension is not known");
}

}  // namespace
}  // namespace xflow::ops
