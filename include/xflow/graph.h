// Graphs built in code, for frameworks that do not use ONNX.
//
//   xflow::GraphBuilder builder;
//   auto x = builder.input("x", xflow::DataType::float32, {"N", 64});
//   auto w = builder.weight(xflow::DataType::float32, {64, 10}, bytes);
//   builder.output("y", builder.apply("relu", {builder.apply("matmul", {x, w})}));
//   auto graph = builder.build();       // the graph, or the first mistake
//   auto better = xflow::optimize(*graph, options);
//   for (const xflow::GraphNode& node : better->graph.nodes()) ...
#pragma once

#include <xflow/data_type.h>
#include <xflow/error.h>
#include <xflow/export.h>
#include <xflow/optimize.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace xflow {

// An integer type, for arguments that are sizes.
template <typename T>
concept SizeNumber = std::integral<T> && !std::same_as<T, bool>;

// NOLINTBEGIN(google-explicit-constructor): lists of sizes and attributes are written in braces.

// A size: a number, or a name for a size that is known at run time. Equal names are equal sizes. Example of
// a list: {"N", 64, 256}.
class Dimension {
 public:
  // A number.
  template <SizeNumber Number>
  Dimension(Number size) : value_(static_cast<std::int64_t>(size)) {}
  Dimension(std::string name) : value_(std::move(name)) {}                       // a name
  Dimension(const char* name) : value_(std::string(name)) {}                     // a name
  bool is_named() const { return std::holds_alternative<std::string>(value_); }  // whether it is a name
  // Requires !is_named().
  std::int64_t size() const { return std::get<std::int64_t>(value_); }
  // Requires is_named().
  const std::string& name() const { return std::get<std::string>(value_); }
  friend bool operator==(const Dimension&, const Dimension&) = default;  // compares the numbers or names

 private:
  std::variant<std::int64_t, std::string> value_;
};

// An attribute of an operator: an integer, integers, sizes (for shapes that depend on named dimensions), a
// real number, a word or an element type. A list in braces is a list of sizes if it has a name, as {"N",
// 64}, and a list of integers otherwise. Optimised graphs may have sizes that are polynomials of names, such
// as "2*N + 1". Read it with std::get_if, as any variant.
class AttributeValue : public std::variant<std::int64_t, std::vector<std::int64_t>, std::vector<Dimension>, double, std::string, DataType> {
 public:
  // An integer.
  template <SizeNumber Number>
  AttributeValue(Number value) : variant(static_cast<std::int64_t>(value)) {}
  AttributeValue(double value) : variant(value) {}                                      // a real number
  AttributeValue(std::string word) : variant(std::move(word)) {}                        // a word
  AttributeValue(const char* word) : variant(std::string(word)) {}                      // a word
  AttributeValue(DataType type) : variant(type) {}                                      // an element type
  AttributeValue(std::vector<std::int64_t> integers) : variant(std::move(integers)) {}  // integers
  AttributeValue(std::vector<Dimension> sizes) : variant(std::move(sizes)) {}           // sizes
  AttributeValue(std::initializer_list<Dimension> list) : variant(of_list(list)) {}     // sizes if one is named, otherwise integers

 private:
  static variant of_list(std::initializer_list<Dimension> list) {
    std::vector<std::int64_t> integers;
    for (const Dimension& size : list) {
      if (size.is_named()) return std::vector<Dimension>(list);
      integers.push_back(size.size());
    }
    return integers;
  }
};
// An attribute and its name.
using NamedAttribute = std::pair<std::string, AttributeValue>;

// NOLINTEND(google-explicit-constructor)

// A value of one graph: the number of an input, weight or result, in the order of their creation.
enum class Value : std::uint32_t {};

// An input of a graph.
struct GraphInput {
  std::string name;             // as it is in results and messages
  Value value;                  // its number
  DataType data_type;           // of its elements
  std::vector<Dimension> dims;  // sizes, outermost first
};

// An output of a graph.
struct GraphOutput {
  std::string name;  // as it is in results and messages
  Value value;       // that the graph returns
};

// A constant. Elements are row-major and little-endian.
struct GraphWeight {
  Value value;                       // its number
  DataType data_type;                // of its elements
  std::vector<std::int64_t> dims;    // sizes, outermost first
  std::span<const std::byte> bytes;  // valid as long as the graph exists
};

// One operation. Names, operands and attributes are those of the rule language (docs/rules.md). src/ops has
// a file for each operator.
struct GraphNode {
  std::string op;                          // name of the operator
  std::vector<Value> operands;             // in the order of the operator
  std::vector<Value> results;              // in the order of the operator
  std::vector<NamedAttribute> attributes;  // of the operator
};

// An immutable graph; copies share it.
class XFLOW_API Graph {
 public:
  std::span<const GraphInput> inputs() const;    // in the order of their creation
  std::span<const GraphWeight> weights() const;  // in the order of their creation
  // Operands come before their users.
  std::span<const GraphNode> nodes() const;
  std::span<const GraphOutput> outputs() const;  // in the order of their creation

  struct State;  // implementation detail
  explicit Graph(std::shared_ptr<const State> state);

 private:
  std::shared_ptr<const State> state_;
};

// Builds a graph node by node. After the first mistake (an unknown operator, operands that do not fit)
// further calls do nothing, and build() returns the mistake.
class XFLOW_API GraphBuilder {
 public:
  GraphBuilder();
  ~GraphBuilder();
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  // Adds an input of the graph.
  Value input(std::string name, DataType type, std::vector<Dimension> dims);
  // Adds a constant and copies its elements: row-major, little-endian. The type and dimensions give the
  // number of bytes.
  Value weight(DataType type, std::vector<std::int64_t> dims, std::span<const std::byte> bytes);
  // Adds an operation of the rule language ("matmul", "conv", "add", ...) and returns its first result.
  Value apply(std::string_view op, std::vector<Value> operands, std::vector<NamedAttribute> attributes = {});
  // The same for operators with several results (split). Returns all of them.
  std::vector<Value> apply_all(std::string_view op, std::vector<Value> operands, std::vector<NamedAttribute> attributes = {});
  // Adds an output of the graph.
  void output(std::string name, Value value);

  // Returns the graph. Errors: ill_typed, with the node that does not fit and what was expected;
  // invalid_argument for a graph without outputs, or with two inputs or two outputs of one name.
  Result<Graph> build();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A graph and the report of its optimisation.
struct GraphResult {
  Graph graph;            // the original if nothing was gained
  OptimizeReport report;  // what the optimisation did
};

// Optimises a graph. options.input.shapes gives the sizes of named dimensions, by input. Errors: those of
// optimize for models (<xflow/optimize.h>).
XFLOW_API Result<GraphResult> optimize(const Graph& graph, const OptimizeOptions& options = {}, const ProgressCallback& progress = {});

}  // namespace xflow
