// Graphs built in code, for frameworks that have no ONNX bytes.
//
//   xflow::GraphBuilder builder;
//   auto x = builder.input("x", xflow::DataType::float32, {"N", 64});
//   auto w = builder.weight(xflow::DataType::float32, {64, 10}, bytes);
//   builder.output("y", builder.apply("relu", {builder.apply("matmul", {x, w})}));
//   auto graph = builder.build();       // the first mistake, or the graph
//   auto better = xflow::optimize(*graph, options);
//   for (const xflow::GraphNode& node : better->graph.nodes()) ...
#pragma once

#include <xflow/error.h>
#include <xflow/export.h>
#include <xflow/optimize.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace xflow {

// Element types, with the numbers of ONNX's TensorProto.DataType. Others of ONNX exist in models; graphs built in code compute with these.
enum class DataType : std::uint8_t {
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  bfloat16 = 16,
};

// A size: a number, or a name for one that is known when the graph runs. Equal names are equal sizes.
using Dimension = std::variant<std::int64_t, std::string>;

// An attribute of an operator: an integer, integers, sizes (for shapes that depend on named dimensions), a real number, a word, an element
// type. A graph that was optimised may have sizes that are polynomials of names, such as "2*N + 1".
using AttributeValue = std::variant<std::int64_t, std::vector<std::int64_t>, std::vector<Dimension>, double, std::string, DataType>;
using NamedAttribute = std::pair<std::string, AttributeValue>;

// A value of one graph: counts inputs, weights and results of nodes in the order in which they were made.
enum class Value : std::uint32_t {};

struct GraphInput {
  std::string name;
  Value value;
  DataType data_type;
  std::vector<Dimension> dims;
};

struct GraphOutput {
  std::string name;
  Value value;
};

// A constant: row-major, little-endian.
struct GraphWeight {
  Value value;
  DataType data_type;
  std::vector<std::int64_t> dims;
  std::span<const std::byte> bytes;  // valid as long as the graph
};

// One operator. Names, operands and attributes are those of the rule language: docs/rules.md; src/ops has a file for each.
struct GraphNode {
  std::string op;
  std::vector<Value> operands;
  std::vector<Value> results;
  std::vector<NamedAttribute> attributes;
};

// An immutable graph; copies share it.
class XFLOW_API Graph {
 public:
  std::span<const GraphInput> inputs() const;
  std::span<const GraphWeight> weights() const;
  std::span<const GraphNode> nodes() const;  // operands before users
  std::span<const GraphOutput> outputs() const;

  struct State;  // of the implementation
  explicit Graph(std::shared_ptr<const State> state);

 private:
  std::shared_ptr<const State> state_;
};

// Collects nodes. A mistake (an unknown operator, operands that do not fit) is remembered, later calls do nothing, and `build` returns the
// first.
class XFLOW_API GraphBuilder {
 public:
  GraphBuilder();
  ~GraphBuilder();
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  Value input(std::string name, DataType type, std::vector<Dimension> dims);
  // Copies the bytes: as many as the type and dimensions say.
  Value weight(DataType type, std::vector<std::int64_t> dims, std::span<const std::byte> bytes);
  // The first result of an operator of the rule language: "matmul", "conv", "add", ...
  Value apply(std::string_view op, std::vector<Value> operands, std::vector<NamedAttribute> attributes = {});
  // All its results, for operators with several (split).
  std::vector<Value> apply_all(std::string_view op, std::vector<Value> operands, std::vector<NamedAttribute> attributes = {});
  void output(std::string name, Value value);

  // Error::ill_typed says which node did not fit and what was expected; invalid_argument for a graph without outputs, or with two
  // inputs or two outputs of one name.
  Result<Graph> build();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct GraphResult {
  Graph graph;  // the original where nothing was gained
  OptimizeReport report;
};

// Optimises a graph. Sizes that only have names are taken from options.shapes, by input. Errors as of optimize for models.
XFLOW_API Result<GraphResult> optimize(const Graph& graph, const OptimizeOptions& options = {}, const ProgressCallback& progress = {});

}  // namespace xflow
