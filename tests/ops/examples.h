// Uses of operators as text and as nodes, for tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/ops/operator.h"
#include "tests/ops/fake_onnx_node.h"

namespace xflow::ops {

// "float32[N, 3, 2*C]", "int64[]": dimensions are integers, names, and products of them.
ir::TensorType parse_type(ir::Symbols& symbols, std::string_view text);

struct Example {
  std::string op;
  std::vector<std::string> operands;  // types; "" is absent
  ir::Attributes attributes;
};

// Attribute lists.
std::vector<ir::Poly> list(std::initializer_list<std::int64_t> values);

// The example as a node; the serial of each input is its operand number.
Result<ir::NodeId> make_node(ir::Arena& arena, const Example& example);

// The type or the error of an example: "float32[N, 4]", "matmul: expected ...".
std::string type_of(const Example& example);

// "add(a: float32[N], b: float32[1]) : float32[N]" and one line of index notation for each output.
std::string describe(const Example& example);

// Compares all examples' descriptions with tests/ops/FILE; with XFLOW_RENEW_GOLDENS set in the environment, writes the file instead.
void expect_golden(const std::string& file, const std::vector<Example>& examples);

// For every row and opset of the operator's ONNX mappings that can write the example: writes it, reads it, and expects the same node.
// Expects at least one row to do it.
void expect_round_trips(const Example& example);

// The one row of the registry that reads (domain, type, opset), and its operator.
struct Row {
  ir::OperatorId op;
  OnnxMapping mapping;
};
std::vector<Row> rows_for(std::string_view domain, std::string_view type, int opset);

// Lifts a node whose inputs are the arena's values of that number: the operation or the error.
Result<ir::NodeId> lift(ir::Arena& arena, const FakeOnnxNode& node, const std::vector<ir::ValueId>& inputs);
// Lifts a node on fresh inputs and prints it: "clip(float32[N]) {max: 6, min: 0}", or the error.
std::string lifted(const FakeOnnxNode& node, ir::Arena& arena);
// Prints how the example is written as `type` in `opset`: "Clip(%0, float32[] 0) {alpha: 1}", or the error.
std::string exported(const Example& example, std::string_view type, int opset);

}  // namespace xflow::ops
