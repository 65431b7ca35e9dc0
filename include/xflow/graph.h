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

// An integer of any type, for arguments that are sizes.
template <typename T>
concept SizeNumber = std::integral<T> && !std::same_as<T, bool>;

// NOLINTBEGIN(google-explicit-constructor): lists of sizes and attributes are written in braces.

// A size: a number, or a name for one that is known when the graph runs. Equal names are equal sizes. {"N", 64, 256} is a list of them.
class Dimension {
 public:
  template <SizeNumber Number>
  Dimension(Number size) : value_(static_cast<std::int64_t>(size)) {}
  Dimension(std::string name) : value_(std::move(name)) {}
  Dimension(const char* name) : value_(std::string(name)) {}
  bool is_named() const { return std::holds_alternative<std::string>(value_); }
  std::int64_t size() const { return std::get<std::int64_t>(value_); }       // requires !is_named()
  const std::string& name() const { return std::get<std::string>(value_); }  // requires is_named()
  friend bool operator==(const Dimension&, const Dimension&) = default;

 private:
  std::variant<std::int64_t, std::string> value_;
};

// An attribute of an operator: an integer, integers, sizes (for shapes that depend on named dimensions), a real number, a word, an element
// type. A list in braces is one of sizes if it has a name, {"N", 64}, and one of integers otherwise. A graph that was optimised may have
// sizes that are polynomials of names, such as "2*N + 1". What it holds is asked for by std::get_if, as of a variant.
class AttributeValue : public std::variant<std::int64_t, std::vector<std::int64_t>, std::vector<Dimension>, double, std::string, DataType> {
 public:
  template <SizeNumber Number>
  AttributeValue(Number value) : variant(static_cast<std::int64_t>(value)) {}
  AttributeValue(double value) : variant(value) {}
  AttributeValue(std::string word) : variant(std::move(word)) {}
  AttributeValue(const char* word) : variant(std::string(word)) {}
  AttributeValue(DataType type) : variant(type) {}
  AttributeValue(std::vector<std::int64_t> integers) : variant(std::move(integers)) {}
  AttributeValue(std::vector<Dimension> sizes) : variant(std::move(sizes)) {}
  AttributeValue(std::initializer_list<Dimension> list) : variant(of_list(list)) {}

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
using NamedAttribute = std::pair<std::string, AttributeValue>;

// NOLINTEND(google-explicit-constructor)

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

// Optimises a graph. Sizes that only have names are taken from options.input.shapes, by input. Errors as of optimize for models.
XFLOW_API Result<GraphResult> optimize(const Graph& graph, const OptimizeOptions& options = {}, const ProgressCallback& progress = {});

}  // namespace xflow
