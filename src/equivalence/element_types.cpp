#include "src/equivalence/element_types.h"

#include <algorithm>
#include <array>

#include "src/ir/data_type_from_number.h"

namespace xflow::equivalence {
namespace {

using ir::DataType;
using onnx_io::Attribute;
using onnx_io::Definition;
using onnx_io::Document;
using onnx_io::Graph;
using onnx_io::Node;

constexpr int kMostSteps = 1000;

// Operators of ONNX (opset 22) whose results are booleans, and those whose results are int64.
constexpr std::array<std::string_view, 11> kBooleans = {
    "And", "Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual", "Not", "Or", "Xor"};
constexpr std::array<std::string_view, 5> kIntegers = {"ArgMax", "ArgMin", "NonZero", "Shape", "Size"};
// Those all of whose results have the type of the first operand.
constexpr std::array<std::string_view, 38> kOfOperand = {
    "Abs",      "Add",       "AveragePool", "Clip",       "Concat",    "Conv",    "Div",
    "Exp",      "Expand",    "Flatten",     "GRU",        "Gather",    "Gemm",    "GlobalAveragePool",
    "Identity", "LSTM",      "Log",         "MatMul",     "Mul",       "Neg",     "Pad",
    "Pow",      "RNN",       "ReduceMax",   "ReduceMean", "ReduceSum", "Relu",    "Reshape",
    "Sigmoid",  "Slice",     "Softmax",     "Split",      "Sqrt",      "Squeeze", "Sub",
    "Tanh",     "Transpose", "Unsqueeze"};

class ElementTypes {
 public:
  explicit ElementTypes(const Document& document) : document_(document) {}

  DataType of(onnx_io::GraphId id, std::string_view name) {
    if (++steps_ > kMostSteps) return DataType::undefined;
    const auto scope = document_.scope_of(id, name);
    if (!scope) return DataType::undefined;
    const Graph& graph = document_.graph(*scope);
    const Definition* found = document_.find(*scope, name);
    if (found->initializer) return graph.initializers[*found->initializer].tensor.data_type;
    if (found->node) return of_result(document_.node(*found->node), found->output);
    if (!found->input || *found->input >= graph.inputs.size()) return DataType::undefined;
    const onnx_io::DeclaredType& type = graph.inputs[*found->input].type;
    return type.kind == onnx_io::DeclaredType::Kind::tensor ? type.data_type : DataType::undefined;
  }

 private:
  DataType of_result(const Node& node, std::size_t output) {
    const auto is_of = [&](std::string_view name) { return node.is(name); };
    if (std::ranges::any_of(kBooleans, is_of)) return DataType::boolean;
    if (std::ranges::any_of(kIntegers, is_of)) return DataType::int64;
    if (std::ranges::any_of(kOfOperand, is_of)) return node.inputs.empty() ? DataType::undefined : of(node.graph, node.inputs[0]);
    const Attribute* attribute = node.find(node.is("If") ? "then_branch" : "to");
    if (attribute == nullptr) return DataType::undefined;
    if (node.is("Cast")) {
      const auto number = attribute->integer();
      return number ? ir::data_type_from_number(*number) : DataType::undefined;
    }
    if (!node.is("If") || attribute->graphs.empty()) return DataType::undefined;
    const Graph& branch = document_.graph(attribute->graphs[0]);
    return output < branch.outputs.size() ? of(branch.id, branch.outputs[output].name) : DataType::undefined;
  }

  const Document& document_;
  int steps_ = 0;
};

}  // namespace

DataType element_type(const Document& document, onnx_io::GraphId graph, std::string_view name) {
  return ElementTypes(document).of(graph, name);
}

}  // namespace xflow::equivalence
