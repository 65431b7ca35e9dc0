#include "src/onnx/document/body_document.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include "src/onnx/document/document_builder.h"
#include "src/onnx/document/document_tensor.h"
#include "src/onnx/document/fields.h"
#include "src/onnx/document/wire.h"

namespace xflow::onnx_io {
namespace {

constexpr std::int64_t kFirstWithOwnInitializers = 4;  // IR version; earlier, an initializer must be an input

// Returns the names that the body reads and does not define, each once, in the order of first use.
std::vector<std::string_view> captures_of(const Document& document, GraphId body) {
  std::vector<std::string_view> captures;
  std::unordered_set<std::string_view> seen;
  const auto read = [&](std::string_view name) {
    if (!name.empty() && document.find(body, name) == nullptr && seen.insert(name).second) captures.push_back(name);
  };
  for (const Node& node : document.nodes(body)) {
    for (const std::string_view name : node.inputs) read(name);
    for (const std::string_view name : node.captures) read(name);
  }
  for (const ValueInfo& output : document.graph(body).outputs) read(output.name);
  return captures;
}

std::string input_message(std::string_view name, const KnownValue& type) {
  if (type.data_type == ir::DataType::undefined) return WireWriter().bytes(1, name).take();
  if (type.ranked) return value_info_message(name, type.data_type, type.dims);
  const std::string tensor = WireWriter().varint(1, static_cast<std::int64_t>(type.data_type)).take();
  return WireWriter().bytes(1, name).bytes(2, WireWriter().bytes(1, tensor).view()).take();
}

KnownValue known_of(const KnownValues& values, std::string_view name) {
  const auto found = values.find(std::string(name));
  return found == values.end() ? KnownValue() : found->second;
}

// Returns the GraphProto of a body.
Result<std::string> graph_of_body(const Document& document, GraphId body, const KnownValues& captured) {
  std::string graph;
  for (const std::string_view piece : document.graph(body).pieces) graph += piece;
  for (const std::string_view name : captures_of(document, body)) {
    const KnownValue known = known_of(captured, name);
    if (known.constant && document.model().ir_version >= kFirstWithOwnInitializers) {
      XFLOW_TRY(const auto bytes, known.constant->source->bytes());
      const std::string_view raw(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      graph +=
          WireWriter().bytes(graph_fields::kInitializer, tensor_message(name, known.constant->data_type, known.constant->dims, raw)).view();
    } else {
      graph += WireWriter().bytes(graph_fields::kInput, input_message(name, known)).view();
    }
  }
  return graph;
}

// Returns the FunctionProto `function` as a GraphProto.
std::string graph_of_function(const Document& document, const Graph& function, const KnownValues& inputs) {
  WireWriter graph;
  for (const Node& node : document.nodes(function.id)) graph.bytes(graph_fields::kNode, node.payload);
  for (const std::string_view name : function.function_inputs)
    graph.bytes(graph_fields::kInput, input_message(name, known_of(inputs, name)));
  for (const std::string_view name : function.function_outputs) graph.bytes(graph_fields::kOutput, input_message(name, {}));
  for (const ValueInfo& value : function.value_infos) graph.bytes(graph_fields::kValueInfo, value.payload);
  return graph.take();
}

// Returns the function that contains a graph at any depth; null if none does.
const Function* function_around(const Document& document, GraphId graph) {
  while (document.graph(graph).owner) graph = document.node(*document.graph(graph).owner).graph;
  const auto& functions = document.model().functions;
  const auto found = std::ranges::find(functions, graph, &Function::body);
  return found == functions.end() ? nullptr : &*found;
}

}  // namespace

KnownValues known_values(const LiftedModel& model, const ir::Arena& arena) {
  KnownValues values;
  for (const auto& [name, value] : model.values) {
    const ir::TensorType& type = arena.type(value);
    KnownValue known{type.data_type, type.ranked, {}};
    const ir::Node& node = arena.node(value);
    if (node.kind == ir::NodeKind::constant && node.constant.is_small()) known.constant = node.constant;
    for (const ir::Poly& size : type.shape) {
      const auto number = size.constant();
      known.dims.push_back(number ? Dimension{Dimension::Kind::value, *number, {}} : Dimension{});
    }
    values.emplace(name, std::move(known));
  }
  return values;
}

Result<Document> body_document(const Document& document, GraphId body, const KnownValues& captured) {
  std::string graph;
  if (document.graph(body).kind == GraphKind::function) {
    graph = graph_of_function(document, document.graph(body), captured);
  } else {
    XFLOW_TRY(graph, graph_of_body(document, body, captured));
  }
  WireWriter model;
  model.varint(model_fields::kIrVersion, document.model().ir_version);
  const Function* around = function_around(document, body);
  for (const OperatorSet& opset : around == nullptr ? document.model().opsets : around->opsets)
    model.bytes(model_fields::kOpset, WireWriter().bytes(1, opset.domain).varint(2, opset.version).view());
  for (const Function& function : document.model().functions) model.raw(function.field);
  model.bytes(model_fields::kGraph, graph);
  return Document::parse(model.take(), document.origin());
}

Result<GraphEdit> edit_of_body(const Document& document, GraphId body, GraphEdit edit) {
  edit.graph = body;
  const Graph& graph = document.graph(body);
  if (!edit.initializers) return edit;
  std::erase_if(*edit.initializers, [&](const Entry& entry) { return entry.kept && *entry.kept >= graph.initializers.size(); });
  if (graph.kind != GraphKind::function) return edit;
  std::vector<Entry> constants;
  for (const Entry& entry : *edit.initializers) {
    const std::string tensor = entry.message + std::string(entry.tail);
    XFLOW_TRY(const TensorView view, parse_tensor(tensor));
    constants.push_back(Entry::add(NodeBuilder("Constant").output(view.name).tensor("value", tensor).message()));
  }
  edit.initializers.reset();
  edit.sparse_initializers.reset();
  if (constants.empty()) return edit;
  if (!document.opset(body, "")) return fail(ErrorCode::unsupported, "the function does not import ONNX's own operators");
  if (!edit.nodes) {
    edit.nodes.emplace();
    for (std::uint32_t k = 0; k < graph.node_count; ++k) edit.nodes->push_back(Entry::keep(k));
  }
  edit.nodes->insert(edit.nodes->begin(), constants.begin(), constants.end());
  return edit;
}

}  // namespace xflow::onnx_io
