// Sizes that are known only when the model runs.
#include "src/onnx/lower/lower_shapes.h"

#include <gtest/gtest.h>

#include <cstring>

#include "src/onnx/document/document_builder.h"
#include "src/onnx/document/wire.h"
#include "tests/onnx/model_builder.h"
#include "tests/onnx/onnx_runtime.h"
#include "tests/onnx/rewritten.h"

namespace xflow::onnx_io {
namespace {

using testing::dynamic_info;
using testing::GraphParts;
using testing::node;
using testing::Rewritten;

std::string integers(std::string_view name, const std::vector<std::int64_t>& values) {
  std::string raw(values.size() * 8, '\0');
  std::memcpy(raw.data(), values.data(), raw.size());
  return tensor_message(name, ir::DataType::int64, std::vector<std::int64_t>{static_cast<std::int64_t>(values.size())}, raw);
}

std::string model_of_opset(const GraphParts& parts, int opset) {
  return WireWriter().varint(1, 8).bytes(8, WireWriter().varint(2, opset).view()).bytes(7, testing::graph_message(parts)).take();
}

// x[N, C, H] and the shape of its transpose, which is [H, C, N].
GraphParts with_shapes() {
  GraphParts parts;
  parts.inputs = {dynamic_info("x", {"N", "C", "H"})};
  parts.initializers = {integers("two", {2}), integers("one", {1}), integers("zero", {0}), integers("minus", {-1})};
  parts.nodes = {node("Shape", "", {"x"}, {"s"}), node("Gather", "", {"s", "zero"}, {"n"}), node("Gather", "", {"s", "one"}, {"c"}),
                 node("Gather", "", {"s", "two"}, {"h"})};
  parts.outputs = {WireWriter().bytes(1, "y").bytes(2, WireWriter().bytes(1, WireWriter().varint(1, 1).view()).view()).take()};
  return parts;
}

std::string concat(std::vector<std::string> inputs, const std::string& output) {
  NodeBuilder builder("Concat");
  for (const std::string& input : inputs) builder.input(input);
  return builder.output(output).integer("axis", 0).message();
}

// The model with every operation exported again.
std::string reexported(const std::string& bytes) {
  const Document document = testing::parsed(bytes);
  ir::Arena arena;
  const auto model = lift(document, arena);
  EXPECT_TRUE(model) << model.error().text();
  EXPECT_TRUE(model->opaque.empty()) << model->opaque[0].reason;
  const Fold fold = [](ir::ValueId) -> Result<ir::Constant> { return fail(ErrorCode::internal, "nothing to fold"); };
  LowerOptions options;
  options.reexport = true;
  const auto lowered = lower(document, *model, arena, model->graph, {}, fold, options);
  EXPECT_TRUE(lowered) << lowered.error().text();
  return *write_bytes(document, lowered->edits);
}

TEST(SymbolicSizes, OneUnknownDimensionOfAReshapeIsInferred) {
  GraphParts parts;
  parts.inputs = {dynamic_info("x", {"N", "2", "3"})};
  parts.initializers = {integers("shape", {2, -1})};
  parts.nodes = {node("Reshape", "", {"x", "shape"}, {"y"})};
  parts.outputs = {dynamic_info("y", {"2", "M"})};
  const Document written = testing::parsed(reexported(model_of_opset(parts, 17)));
  ASSERT_EQ(written.nodes().size(), 1U);
  const std::string_view shape = written.nodes()[0].inputs[1];
  EXPECT_EQ(*onnx_io::integers(written.main().initializers[*written.find(GraphId{0}, shape)->initializer].tensor),
            (std::vector<std::int64_t>{2, -1}));
}

TEST(SymbolicSizes, SeveralUnknownDimensionsAreReadFromShapes) {
  GraphParts parts = with_shapes();
  parts.nodes.push_back(concat({"h", "n", "c"}, "t"));
  parts.nodes.push_back(node("Reshape", "", {"x", "t"}, {"y"}));
  EXPECT_EQ(testing::node_lines(testing::parsed(reexported(model_of_opset(parts, 17)))),
            "Shape x -> xflow_Shape_3\n"
            "Gather xflow_Shape_3 xflow_constant_5 -> xflow_Gather_4\n"
            "Gather xflow_Shape_3 xflow_constant_7 -> xflow_Gather_6\n"
            "Gather xflow_Shape_3 xflow_constant_9 -> xflow_Gather_8\n"
            "Concat xflow_Gather_4 xflow_Gather_6 xflow_Gather_8 -> xflow_shape_2\n"
            "Reshape x xflow_shape_2 -> y\n");
}

// Shape arithmetic of all kinds, before and after, at several sizes.
TEST(SymbolicSizes, AreComputedAsTheModelDoes) {
  const testing::TemporaryFolder folder;
  std::vector<testing::ModelPair> pairs;
  const auto add = [&](const GraphParts& parts, int opset) {
    const std::string name = "model" + std::to_string(pairs.size());
    const std::string bytes = model_of_opset(parts, opset);
    pairs.push_back({folder.write(name + "_a.onnx", bytes), folder.write(name + "_b.onnx", reexported(bytes)), ""});
  };
  for (const int opset : {11, 13, 17}) {
    {  // [H * N, C]
      GraphParts parts = with_shapes();
      parts.nodes.push_back(node("Mul", "", {"h", "n"}, {"hn"}));
      parts.nodes.push_back(concat({"hn", "c"}, "t"));
      parts.nodes.push_back(node("Reshape", "", {"x", "t"}, {"y"}));
      add(parts, opset);
    }
    {  // the first half of axis 2, then all of it as columns
      GraphParts parts = with_shapes();
      parts.nodes.push_back(node("Div", "", {"h", "two"}, {"half"}));
      parts.nodes.push_back(node("Slice", "", {"x", "zero", "half", "two"}, {"a"}));
      parts.nodes.push_back(concat({"n", "c", "half"}, "t"));
      parts.nodes.push_back(node("Expand", "", {"a", "t"}, {"y"}));
      add(parts, opset);
    }
    {  // N * C copies of the first element of axis 2, plus 1
      GraphParts parts = with_shapes();
      parts.nodes.push_back(node("Mul", "", {"n", "c"}, {"nc"}));
      parts.nodes.push_back(node("Add", "", {"nc", "one"}, {"more"}));
      parts.nodes.push_back(node("Slice", "", {"x", "zero", "one", "two"}, {"a"}));
      parts.nodes.push_back(concat({"one", "one", "more"}, "t"));
      parts.nodes.push_back(node("Tile", "", {"a", "t"}, {"y"}));
      add(parts, opset);
    }
    {  // all but the last of axis 2
      GraphParts parts = with_shapes();
      parts.nodes.push_back(node("Sub", "", {"h", "one"}, {"last"}));
      parts.nodes.push_back(node("Slice", "", {"x", "zero", "last", "two"}, {"a"}));
      parts.nodes.push_back(node("Slice", "", {"a", "minus", "last", "two"}, {"y"}));
      add(parts, opset);
    }
  }
  EXPECT_EQ(testing::disagreements(pairs), "");
}

// a[3 * N + 1] and, further down, b[N].
TEST(SymbolicSizes, AreSolvedForAndReadFromTheFirstValueThatShowsThem) {
  ir::Arena arena;
  const ir::SymbolId n = arena.symbols().named(ir::SymbolKind::dimension, "N");
  const ir::SymbolId m = arena.symbols().named(ir::SymbolKind::dimension, "M");
  const auto vector = [&](ir::Poly size) { return arena.input({ir::DataType::float32, true, {std::move(size)}}, 0); };
  const ir::ValueId a = vector(ir::Poly(n) * 3 + 1);
  const ir::ValueId b = vector(ir::Poly(n));
  SizeIndex index;
  index.add(arena, a, 0);
  index.add(arena, b, 5);
  const auto text = [&](const ir::Poly& p, std::size_t limit) {
    const auto sources = index.sources(arena.symbols(), {p}, limit);
    if (!sources) return sources.error().text();
    ShapeNames names;
    std::size_t count = 0;
    names.name_of = [&](ir::ValueId v) { return v == a ? "a" : "b"; };
    names.integers = [](const std::vector<std::int64_t>& values) { return values.empty() ? "[]" : std::to_string(values[0]); };
    names.fresh = [&](std::string_view) { return "v" + std::to_string(count++); };
    const auto messages = compute_integers(arena.symbols(), {p}, false, *sources, 13, names, "out");
    EXPECT_TRUE(messages) << messages.error().text();
    std::string lines;
    for (const std::string& message : *messages) {
      WireReader reader(message);
      WireField field;
      std::string line;
      while (reader.next(field)) {
        if (field.is_bytes(1)) line += " " + std::string(field.payload);
        if (field.is_bytes(2)) line += " -> " + std::string(field.payload);
        if (field.is_bytes(4)) line = std::string(field.payload) + line;
      }
      lines += line + "\n";
    }
    return lines;
  };
  EXPECT_EQ(text(ir::Poly(n) * 2, 9), "Shape b -> v0\nGather v0 0 -> v1\nMul v1 2 -> v2\nConcat v2 -> out\n");
  EXPECT_EQ(text(ir::Poly(n) * 2, 5),
            "Shape a -> v0\nGather v0 0 -> v1\nSub v1 1 -> v2\nDiv v2 3 -> v3\nMul v3 2 -> v4\nConcat v4 -> out\n");
  EXPECT_EQ(text(ir::Poly(n) * 3 + 1, 9), "Shape a -> v0\nGather v0 0 -> v1\nConcat v1 -> out\n");
  EXPECT_EQ(text(ir::Poly(m), 9), "no value shows the size M");
}

}  // namespace
}  // namespace xflow::onnx_io
