// Random graphs, random rewrites: what is written says what the rewritten graph says.
#include <gtest/gtest.h>

#include <random>

#include "src/onnx/document/document_builder.h"
#include "src/onnx/document/wire.h"
#include "src/onnx/lower/lower.h"
#include "src/ops/operator.h"
#include "tests/onnx/model_builder.h"
#include "tests/onnx/onnx_runtime.h"
#include "tests/onnx/rewritten.h"

namespace xflow::onnx_io {
namespace {

using testing::float_info;
using testing::GraphParts;
using testing::model_of;
using testing::node;
using testing::Rewritten;

constexpr std::array<std::string_view, 4> kUnary = {"Relu", "Neg", "Tanh", "Hardmax"};  // the last is opaque
constexpr std::array<std::string_view, 3> kBinary = {"Add", "Mul", "Sub"};

std::size_t pick(std::mt19937& random, std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random); }

// A model of pointwise nodes over two inputs and a weight; some values are outputs, one may be captured by an If.
GraphParts random_model(std::mt19937& random) {
  GraphParts parts;
  parts.inputs = {float_info("x0"), float_info("x1"), value_info_message("c", ir::DataType::boolean, {})};
  parts.initializers = {testing::float_tensor("w", {1, 2})};
  std::vector<std::string> values{"x0", "x1", "w"};
  const std::size_t count = 3 + pick(random, 10);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = "v" + std::to_string(i);
    const std::string a = values[pick(random, values.size())];
    const std::string b = values[pick(random, values.size())];
    parts.nodes.push_back(pick(random, 2) == 0 ? node(kUnary[pick(random, kUnary.size())], "", {a}, {name})
                                               : node(kBinary[pick(random, kBinary.size())], "", {a, b}, {name}));
    if (pick(random, 2) == 0) parts.value_infos.push_back(float_info(name));
    values.push_back(name);
    if (pick(random, 8) == 0) {
      GraphParts body;
      body.nodes = {node("Abs", "", {name}, {"r" + name})};
      body.outputs = {float_info("r" + name)};
      const std::string branch = graph_message(body);
      body.nodes = {node("Neg", "", {name}, {"s" + name})};
      body.outputs = {float_info("s" + name)};
      parts.nodes.push_back(NodeBuilder("If")
                                .input("c")
                                .output("if" + name)
                                .graph("then_branch", branch)
                                .graph("else_branch", graph_message(body))
                                .message());
      parts.value_infos.push_back(float_info("if" + name));
      values.push_back("if" + name);
    }
  }
  parts.outputs = {float_info(values.back())};
  for (std::size_t i = 3; i + 1 < values.size(); ++i)
    if (pick(random, 4) == 0) parts.outputs.push_back(float_info(values[i]));
  return parts;
}

// Replaces a value of the graph by something over values before it.
void rewrite(Rewritten& model, std::mt19937& random) {
  const auto order = ir::topological_order(model.arena(), model.graph());
  std::vector<ir::ValueId> before;
  std::vector<ir::ValueId> candidates;
  for (const ir::NodeId id : order) {
    const ir::Node& n = model.arena().node(id);
    const ir::ValueId v{id, 0};
    if (model.arena().type(v).shape.size() != 1) continue;
    if (n.kind == ir::NodeKind::operation && !n.is_constant) candidates.push_back(v);
    if (!n.is_constant) before.push_back(v);
  }
  if (candidates.empty()) return;
  const ir::ValueId target = candidates[pick(random, candidates.size())];
  before.erase(std::find(before.begin(), before.end(), target), before.end());
  if (before.empty()) before.push_back(model.value("x0"));
  const ir::ValueId a = before[pick(random, before.size())];
  const ir::ValueId b = before[pick(random, before.size())];
  switch (pick(random, 4)) {
    case 0:
      model.replace(target, a);
      break;
    case 1:
      model.replace(target, model.op("add", {a, b}));
      break;
    case 2:
      model.replace(target, model.op("neg", {model.op("mul", {a, b})}));
      break;
    default:
      model.replace(target, model.op("neg", {target}));  // what is replaced stays inside
      break;
  }
}

// The graph as text, each value once, opaque nodes by their operator: equal texts are equal graphs.
std::string text_of(ir::Arena& arena, const ir::Graph& graph, const Document& document, std::size_t outputs) {
  std::map<ir::ValueId, std::size_t> numbers;
  std::string text;
  ir::Graph shown;
  shown.outputs.assign(graph.outputs.begin(), graph.outputs.begin() + static_cast<std::ptrdiff_t>(outputs));
  std::vector<ir::NodeId> order = ir::topological_order(arena, shown);
  for (const ir::NodeId id : order) {
    const ir::Node& n = arena.node(id);
    std::string line;
    if (n.kind == ir::NodeKind::input) line = "input " + std::to_string(n.serial);
    if (n.kind == ir::NodeKind::constant) line = "constant";
    if (n.kind == ir::NodeKind::opaque) line = "opaque " + std::string(document.node(static_cast<NodeId>(n.serial)).op_type);
    if (n.kind == ir::NodeKind::operation) line = std::string(ops::get(n.op).signature.name);
    if (n.kind == ir::NodeKind::constant) {
      const std::vector<double> values = ir::doubles(n.constant).value();
      for (const double v : values) line += " " + std::to_string(v);
    }
    for (const ir::ValueId v : n.operands) line += " #" + std::to_string(numbers.at(v));
    const std::size_t number = numbers.size();
    numbers.emplace(ir::ValueId{id, 0}, number);
    text += std::to_string(number) + ": " + line + "\n";
  }
  for (const ir::ValueId v : shown.outputs) text += "output #" + std::to_string(numbers.at(v)) + "\n";
  return text;
}

// What an Identity hands on is the same value.
ir::Graph without_identities(ir::Arena& arena, ir::Graph graph) {
  while (true) {
    ir::ValueMap replacements;
    for (const ir::NodeId id : ir::topological_order(arena, graph)) {
      const ir::Node& n = arena.node(id);
      if (n.kind == ir::NodeKind::operation && ops::get(n.op).signature.name == "identity" && replacements.empty())
        replacements.emplace(ir::ValueId{id, 0}, n.operands[0]);
    }
    if (replacements.empty()) return graph;
    graph = *ir::replace(arena, graph, replacements);
  }
}

// The declared values that the written model still has.
std::string kept_infos(const Rewritten& model, const Document& written) {
  std::string text;
  for (const ValueInfo& info : model.original().main().value_infos)
    if (written.find(GraphId{0}, info.name) != nullptr) text += (text.empty() ? "" : " ") + std::string(info.name);
  return text;
}

TEST(Lowering, WritesTheRewrittenGraph) {
  for (std::uint32_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Rewritten model(model_of(random_model(random)));
    const std::size_t rewrites = pick(random, 5);
    for (std::size_t i = 0; i < rewrites; ++i) rewrite(model, random);
    SCOPED_TRACE(testing::node_lines(model.original()) + "became\n" +
                 text_of(model.arena(), model.graph(), model.original(), model.model().output_count));
    const Document written = testing::parsed(model.bytes());
    ASSERT_FALSE(::testing::Test::HasFailure());
    EXPECT_TRUE(written.main().sorted);
    EXPECT_EQ(model.value_infos(), kept_infos(model, written));
    ir::Arena arena;
    auto relifted = lift(written, arena);
    ASSERT_TRUE(relifted) << relifted.error().text();
    const std::size_t outputs = model.model().output_count;
    ASSERT_EQ(relifted->output_count, outputs);
    const ir::Graph found = without_identities(arena, relifted->graph);
    ASSERT_EQ(text_of(arena, found, written, outputs), text_of(model.arena(), model.graph(), model.original(), outputs));
  }
}

}  // namespace
}  // namespace xflow::onnx_io
