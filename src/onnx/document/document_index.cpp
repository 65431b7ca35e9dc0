// Indexes the byte ranges of a model in one pass over the fields of each graph. Graphs wait in a list, so
// nesting needs no stack.
#include "src/onnx/document/document_state.h"
#include "src/onnx/document/external.h"
#include "src/onnx/document/wire.h"
#include "src/support/printable.h"

namespace xflow::onnx_io {

namespace {

class Indexer {
 public:
  explicit Indexer(Document::State& state) : state_(state), bytes_(state.file->bytes()), external_(state.origin, state.files) {}

  Result<void> run();

 private:
  Unexpected unreadable(std::string message) const { return fail(ErrorCode::unreadable, std::move(message), state_.origin.name); }
  // Returns the error of a reader that stopped, or of a nested message.
  Unexpected faulty(const WireReader& reader, std::string_view message, const std::string& what) const;
  Unexpected nested(const Error& error, const std::string& what) const;
  Unexpected not_a_model(const WireReader& reader) const;

  GraphId add_graph(GraphKind kind);
  Result<void> model();
  Result<void> function(const WireField& field);
  Result<void> graph(GraphId id);
  Result<void> graph_field(Graph& graph, const WireField& field);
  Result<void> function_field(Graph& graph, const WireField& field);
  Result<void> node(Graph& graph, const WireField& field);
  Result<Attribute> attribute(const Node& node, const WireField& field);
  Result<void> attribute_tensors(const Attribute& attribute, const Node& node);
  Result<ValueInfo> value_info(const Graph& graph, const WireField& field);
  Result<TensorView> tensor(std::string_view payload);
  Result<void> sparse_initializer(Graph& graph, const WireField& field);
  Result<QuantizationAnnotation> annotation(const Graph& graph, const WireField& field);
  Result<std::pair<std::string_view, std::string_view>> entry(std::string_view payload, const std::string& what);
  Result<OperatorSet> operator_set(std::string_view payload);

  Document::State& state_;
  std::string_view bytes_;
  ExternalFiles external_;
};

Unexpected Indexer::faulty(const WireReader& reader, std::string_view message, const std::string& what) const {
  const auto offset = static_cast<std::uint64_t>(message.data() - bytes_.data()) + reader.fault_offset();
  return unreadable("damaged model: " + what + " has at byte " + std::to_string(offset) + " " + reader.fault_text());
}

Unexpected Indexer::nested(const Error& error, const std::string& what) const {
  return fail(error.code, what + ": " + error.message, state_.origin.name);
}

// Returns the error for faults in the fields of the model itself: the file is truncated or is no model.
Unexpected Indexer::not_a_model(const WireReader& reader) const {
  constexpr std::string_view kPointer = "version https://git-lfs";
  if (bytes_.substr(0, kPointer.size()) == kPointer) {
    return unreadable("is a Git LFS pointer, expected the model itself; fetch it with 'git lfs pull'");
  }
  const WireField& field = reader.fault_field();
  const bool is_text = field.number == 2 || field.number == 3 || field.number == 4 || field.number == 6;
  const bool is_message = field.number == 7 || field.number == 8 || field.number == 14 || field.number == 20 || field.number == 25;
  const bool is_cut = reader.fault() == WireFault::past_end || reader.fault() == WireFault::cut_varint;
  if (is_cut && field.type == WireType::length_delimited && (is_message || (is_text && !state_.model.opsets.empty()))) {
    const std::string what = field.number == 7 ? "the graph" : field.number == 25 ? "a function" : "a field of the model";
    return unreadable("the file is truncated: " + what + " at byte " + std::to_string(reader.fault_offset()) + " is " +
                      reader.fault_text());
  }
  return unreadable("not an ONNX model: at byte " + std::to_string(reader.fault_offset()) + ": " + reader.fault_text());
}

GraphId Indexer::add_graph(GraphKind kind) {
  const GraphId id{static_cast<std::uint32_t>(state_.graphs.size())};
  state_.graphs.emplace_back();
  state_.graphs.back().id = id;
  state_.graphs.back().kind = kind;
  return id;
}

Result<void> Indexer::run() {
  if (bytes_.empty()) return unreadable("the file is empty, expected an ONNX model");
  XFLOW_CHECK(model());
  for (std::size_t i = 0; i < state_.graphs.size(); ++i) XFLOW_CHECK(graph(GraphId{static_cast<std::uint32_t>(i)}));
  return {};
}

Result<void> Indexer::model() {
  Model& model = state_.model;
  add_graph(GraphKind::main);
  WireReader reader(bytes_);
  for (WireField field; reader.next(field);) {
    if (field.is_varint(1)) {
      model.ir_version = static_cast<std::int64_t>(field.value);
    } else if (field.is_bytes(2)) {
      model.producer_name = field.payload;
    } else if (field.is_bytes(3)) {
      model.producer_version = field.payload;
    } else if (field.is_bytes(4)) {
      model.domain = field.payload;
    } else if (field.is_varint(5)) {
      model.model_version = static_cast<std::int64_t>(field.value);
    } else if (field.is_bytes(6)) {
      model.doc_string = field.payload;
    } else if (field.is_bytes(7)) {
      state_.graphs[0].pieces.push_back(field.payload);
    } else if (field.is_bytes(8)) {
      XFLOW_TRY(const OperatorSet opset, operator_set(field.payload));
      model.opsets.push_back(opset);
    } else if (field.is_bytes(14)) {
      XFLOW_TRY(const auto pair, entry(field.payload, "the model's metadata"));
      model.metadata.push_back(pair);
    } else if (field.is_bytes(20)) {
      ++model.training_infos;
    } else if (field.is_bytes(25)) {
      XFLOW_CHECK(function(field));
    }
  }
  if (reader.fault() != WireFault::none) return not_a_model(reader);
  if (state_.graphs[0].pieces.empty()) return unreadable("the model has no graph");
  return {};
}

// Returns the kind of an attribute without a declared type: the kind of the last field that holds a value.
AttributeType type_of_field(const WireField& field) {
  switch (field.number) {
    case 2:
      return AttributeType::real;
    case 3:
      return AttributeType::integer;
    case 4:
      return AttributeType::string;
    case 5:
      return AttributeType::tensor;
    case 6:
      return AttributeType::graph;
    case 7:
      return AttributeType::reals;
    case 8:
      return AttributeType::integers;
    case 9:
      return AttributeType::strings;
    case 10:
      return AttributeType::tensors;
    case 11:
      return AttributeType::graphs;
    case 14:
      return AttributeType::type;
    case 15:
      return AttributeType::types;
    case 22:
      return AttributeType::sparse_tensor;
    case 23:
      return AttributeType::sparse_tensors;
    default:
      return AttributeType::undefined;
  }
}

// An attribute without its bodies, and the messages of the bodies.
struct ReadAttribute {
  Attribute attribute;
  std::vector<std::string_view> graph;  // pieces of one graph
  std::vector<std::string_view> graphs;
  bool has_tensors = false;
};

ReadAttribute read_attribute(const WireField& whole, WireReader& reader) {
  ReadAttribute read;
  read.attribute.payload = whole.payload;
  read.attribute.field = whole.whole;
  AttributeType guess = AttributeType::undefined;
  for (WireField field; reader.next(field);) {
    if (field.is_bytes(1)) {
      read.attribute.name = field.payload;
    } else if (field.is_varint(20)) {
      read.attribute.type = static_cast<AttributeType>(static_cast<std::int32_t>(field.value));
    } else if (field.is_bytes(21)) {
      read.attribute.reference = field.payload;
    } else {
      if (field.is_bytes(6)) read.graph.push_back(field.payload);
      if (field.is_bytes(11)) read.graphs.push_back(field.payload);
      read.has_tensors = read.has_tensors || field.is_bytes(5) || field.is_bytes(10) || field.is_bytes(22) || field.is_bytes(23);
      const AttributeType type = type_of_field(field);
      if (type != AttributeType::undefined) guess = type;
    }
  }
  if (read.attribute.type == AttributeType::undefined) read.attribute.type = guess;
  return read;
}

Result<void> Indexer::function(const WireField& whole) {
  Function function;
  function.field = whole.whole;
  function.body = add_graph(GraphKind::function);
  Graph& body = state_.graphs.back();
  body.pieces.push_back(whole.payload);
  WireReader reader(whole.payload);
  for (WireField field; reader.next(field);) {
    if (field.is_bytes(1)) {
      function.name = field.payload;
    } else if (field.is_bytes(6)) {
      function.attributes.push_back(field.payload);
    } else if (field.is_bytes(9)) {
      XFLOW_TRY(const OperatorSet opset, operator_set(field.payload));
      function.opsets.push_back(opset);
    } else if (field.is_bytes(10)) {
      function.domain = field.payload;
    } else if (field.is_bytes(11)) {
      WireReader fields(field.payload);
      function.defaults.push_back(read_attribute(field, fields).attribute);
      if (fields.fault() != WireFault::none) return faulty(fields, field.payload, "an attribute of a function");
    } else if (field.is_bytes(13)) {
      function.overload = field.payload;
    }
  }
  if (reader.fault() != WireFault::none) return faulty(reader, whole.payload, "function " + in_quotes(function.name));
  body.name = function.name;
  state_.model.functions.push_back(std::move(function));
  return {};
}

Result<void> Indexer::graph(GraphId id) {
  // Nodes with bodies add graphs to the list, so this graph is moved out of the list while it is read.
  Graph graph = std::move(state_.graphs[index(id)]);
  graph.first_node = static_cast<std::uint32_t>(state_.nodes.size());
  for (const std::string_view piece : graph.pieces) {
    WireReader reader(piece);
    for (WireField field; reader.next(field);) {
      XFLOW_CHECK(graph.kind == GraphKind::function ? function_field(graph, field) : graph_field(graph, field));
    }
    if (reader.fault() != WireFault::none) {
      graph.node_count = static_cast<std::uint32_t>(state_.nodes.size()) - graph.first_node;
      state_.graphs[index(id)] = std::move(graph);
      return faulty(reader, piece, describe(state_, id));
    }
  }
  graph.node_count = static_cast<std::uint32_t>(state_.nodes.size()) - graph.first_node;
  state_.graphs[index(id)] = std::move(graph);
  return {};
}

Result<void> Indexer::graph_field(Graph& graph, const WireField& field) {
  if (field.type != WireType::length_delimited) return {};
  switch (field.number) {
    case 1:
      return node(graph, field);
    case 2:
      graph.name = field.payload;
      return {};
    case 5: {
      auto initializer = tensor(field.payload);
      if (!initializer) return nested(initializer.error(), "an initializer of graph " + in_quotes(graph.name));
      graph.initializers.push_back(Initializer{*std::move(initializer), field.whole});
      return {};
    }
    case 10:
      graph.doc_string = field.payload;
      return {};
    case 11:
    case 12:
    case 13: {
      XFLOW_TRY(ValueInfo info, value_info(graph, field));
      auto& list = field.number == 11 ? graph.inputs : field.number == 12 ? graph.outputs : graph.value_infos;
      list.push_back(std::move(info));
      return {};
    }
    case 14: {
      XFLOW_TRY(QuantizationAnnotation quantization, annotation(graph, field));
      graph.quantization_annotations.push_back(std::move(quantization));
      return {};
    }
    case 15:
      return sparse_initializer(graph, field);
    default:
      return {};
  }
}

Result<void> Indexer::function_field(Graph& graph, const WireField& field) {
  if (field.type != WireType::length_delimited) return {};
  switch (field.number) {
    case 4:
      graph.function_inputs.push_back(field.payload);
      return {};
    case 5:
      graph.function_outputs.push_back(field.payload);
      return {};
    case 7:
      return node(graph, field);
    case 8:
      graph.doc_string = field.payload;
      return {};
    case 12: {
      XFLOW_TRY(ValueInfo info, value_info(graph, field));
      graph.value_infos.push_back(std::move(info));
      return {};
    }
    default:
      return {};
  }
}

Result<void> Indexer::node(Graph& graph, const WireField& whole) {
  Node node;
  node.id = NodeId{static_cast<std::uint32_t>(state_.nodes.size())};
  node.graph = graph.id;
  node.payload = whole.payload;
  node.field = whole.whole;
  std::vector<WireField> attributes;
  WireReader reader(whole.payload);
  for (WireField field; reader.next(field);) {
    if (field.type != WireType::length_delimited) continue;
    switch (field.number) {
      case 1:
        node.inputs.push_back(field.payload);
        break;
      case 2:
        node.outputs.push_back(field.payload);
        break;
      case 3:
        node.name = field.payload;
        break;
      case 4:
        node.op_type = field.payload;
        break;
      case 5:
        attributes.push_back(field);
        break;
      case 7:
        node.domain = field.payload;
        break;
      case 8:
        node.overload = field.payload;
        break;
      default:
        break;
    }
  }
  state_.nodes.push_back(std::move(node));
  Node& stored = state_.nodes.back();
  if (reader.fault() != WireFault::none) return faulty(reader, whole.payload, describe(state_, stored.id));
  stored.attributes.reserve(attributes.size());
  for (const WireField& field : attributes) {
    XFLOW_TRY(Attribute attribute, this->attribute(stored, field));
    stored.attributes.push_back(std::move(attribute));
  }
  return {};
}

Result<Attribute> Indexer::attribute(const Node& node, const WireField& whole) {
  WireReader reader(whole.payload);
  ReadAttribute read = read_attribute(whole, reader);
  Attribute& attribute = read.attribute;
  if (reader.fault() != WireFault::none) {
    return faulty(reader, whole.payload, "attribute " + in_quotes(attribute.name) + " of " + describe(state_, node.id));
  }
  const auto add_body = [&](std::vector<std::string_view> pieces) {
    const GraphId id = add_graph(GraphKind::body);
    state_.graphs.back().owner = node.id;
    state_.graphs.back().attribute = attribute.name;
    state_.graphs.back().pieces = std::move(pieces);
    attribute.graphs.push_back(id);
  };
  if (!read.graph.empty()) add_body(std::move(read.graph));
  for (const std::string_view payload : read.graphs) add_body({payload});
  if (read.has_tensors) XFLOW_CHECK(attribute_tensors(attribute, node));
  return std::move(attribute);
}

// Tensors in attributes are decoded on demand, but a missing file of external data is reported now.
Result<void> Indexer::attribute_tensors(const Attribute& attribute, const Node& node) {
  const auto what = [&] { return "attribute " + in_quotes(attribute.name) + " of " + describe(state_, node.id); };
  const auto check = [&](std::string_view payload) -> Result<void> {
    const auto view = tensor(payload);
    if (!view) return nested(view.error(), what());
    return {};
  };
  WireReader reader(attribute.payload);
  for (WireField field; reader.next(field);) {
    if (field.is_bytes(5) || field.is_bytes(10)) {
      XFLOW_CHECK(check(field.payload));
    } else if (field.is_bytes(22) || field.is_bytes(23)) {
      WireReader sparse(field.payload);
      for (WireField part; sparse.next(part);) {
        if (part.is_bytes(1) || part.is_bytes(2)) XFLOW_CHECK(check(part.payload));
      }
      if (sparse.fault() != WireFault::none) return faulty(sparse, field.payload, what());
    }
  }
  return {};
}

Result<ValueInfo> Indexer::value_info(const Graph& graph, const WireField& whole) {
  ValueInfo info;
  info.payload = whole.payload;
  info.field = whole.whole;
  std::vector<std::string_view> types;
  WireReader reader(whole.payload);
  for (WireField field; reader.next(field);) {
    if (field.is_bytes(1)) {
      info.name = field.payload;
    } else if (field.is_bytes(2)) {
      types.push_back(field.payload);
    }
  }
  const auto what = [&] { return "the type of value " + in_quotes(info.name) + " in graph " + in_quotes(graph.name); };
  if (reader.fault() != WireFault::none) return faulty(reader, whole.payload, what());
  for (const std::string_view type : types) {
    if (auto parsed = parse_type(type, info.type); !parsed) return nested(parsed.error(), "damaged model: " + what());
  }
  return info;
}

Result<TensorView> Indexer::tensor(std::string_view payload) {
  XFLOW_TRY(TensorView view, parse_tensor(payload));
  if (view.storage == TensorStorage::external) {
    XFLOW_CHECK(external_.resolve(view));
  } else {
    const std::string_view part = view.storage == TensorStorage::raw ? view.bytes : payload;
    view.range = Range{static_cast<std::uint64_t>(part.data() - bytes_.data()), part.size()};
  }
  return view;
}

Result<void> Indexer::sparse_initializer(Graph& graph, const WireField& whole) {
  SparseInitializer sparse;
  sparse.field = whole.whole;
  const std::string what = "a sparse initializer of graph " + in_quotes(graph.name);
  WireReader reader(whole.payload);
  for (WireField field; reader.next(field);) {
    if (field.is_bytes(1) || field.is_bytes(2)) {
      auto view = tensor(field.payload);
      if (!view) return nested(view.error(), what);
      (field.number == 1 ? sparse.values : sparse.indices) = *std::move(view);
    } else if (field.number == 3 && !append_varints(field, sparse.dims)) {
      return unreadable("damaged model: " + what + " has truncated dimensions");
    }
  }
  if (reader.fault() != WireFault::none) return faulty(reader, whole.payload, what);
  graph.sparse_initializers.push_back(std::move(sparse));
  return {};
}

Result<QuantizationAnnotation> Indexer::annotation(const Graph& graph, const WireField& whole) {
  QuantizationAnnotation annotation;
  annotation.field = whole.whole;
  const std::string what = "a quantization annotation of graph " + in_quotes(graph.name);
  WireReader reader(whole.payload);
  for (WireField field; reader.next(field);) {
    if (field.is_bytes(1)) {
      annotation.tensor_name = field.payload;
    } else if (field.is_bytes(2)) {
      XFLOW_TRY(const auto pair, entry(field.payload, what));
      annotation.parameters.push_back(pair);
    }
  }
  if (reader.fault() != WireFault::none) return faulty(reader, whole.payload, what);
  return annotation;
}

Result<std::pair<std::string_view, std::string_view>> Indexer::entry(std::string_view payload, const std::string& what) {
  std::pair<std::string_view, std::string_view> pair;
  WireReader reader(payload);
  for (WireField field; reader.next(field);) {
    if (field.is_bytes(1)) pair.first = field.payload;
    if (field.is_bytes(2)) pair.second = field.payload;
  }
  if (reader.fault() != WireFault::none) return faulty(reader, payload, what);
  return pair;
}

Result<OperatorSet> Indexer::operator_set(std::string_view payload) {
  OperatorSet opset;
  WireReader reader(payload);
  for (WireField field; reader.next(field);) {
    if (field.is_bytes(1)) opset.domain = field.payload;
    if (field.is_varint(2)) opset.version = static_cast<std::int64_t>(field.value);
  }
  if (reader.fault() != WireFault::none) return faulty(reader, payload, "an operator set");
  return opset;
}

}  // namespace

Result<void> index_model(Document::State& state) { return Indexer(state).run(); }

}  // namespace xflow::onnx_io
