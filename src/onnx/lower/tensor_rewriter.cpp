#include "src/onnx/lower/tensor_rewriter.h"

#include <algorithm>

#include "src/onnx/document/wire.h"

namespace xflow::onnx_io {

namespace {

constexpr int kMostNested = 1000;  // nesting of bodies of a new node

// Kinds of messages that contain tensors.
enum class MessageKind : std::uint8_t { none, node, attribute, tensor, sparse, graph };

// Returns the kind of the message in a field of another message.
MessageKind child(MessageKind parent, std::uint32_t number) {
  switch (parent) {
    case MessageKind::node:
      return number == 5 ? MessageKind::attribute : MessageKind::none;
    case MessageKind::attribute:
      if (number == 5 || number == 10) return MessageKind::tensor;
      if (number == 22 || number == 23) return MessageKind::sparse;
      return number == 6 || number == 11 ? MessageKind::graph : MessageKind::none;
    case MessageKind::sparse:
      return number == 1 || number == 2 ? MessageKind::tensor : MessageKind::none;
    case MessageKind::graph:
      if (number == 1) return MessageKind::node;
      if (number == 5) return MessageKind::tensor;
      return number == 15 ? MessageKind::sparse : MessageKind::none;
    default:
      return MessageKind::none;
  }
}

std::string_view text_field(std::string_view message, std::uint32_t number) {
  std::string_view text;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.is_bytes(number)) text = field.payload;
  }
  return text;
}

bool is_constant(std::string_view node) { return text_field(node, 4) == "Constant" && is_default_domain(text_field(node, 7)); }

// The context of a message.
struct Around {
  bool with_bodies = true;  // whether graphs in attributes are visited
  bool function = false;    // inside a local function
  bool constant = false;    // inside a Constant
  TensorPlace place = TensorPlace::other;
  int depth = 0;
};

class Rewriter {
 public:
  Rewriter(const Document& document, std::span<const GraphEdit> edits, const RewriteTensor& rewrite)
      : document_(document), edits_(edits), rewrite_(rewrite), written_(document.graphs().size()) {}

  Result<std::vector<GraphEdit>> run();

 private:
  using Rewritten = Result<std::optional<std::string>>;

  const GraphEdit* edit_of(GraphId graph) const;
  bool is_written(const Graph& graph) const;
  Result<void> graph(const Graph& graph, GraphEdit& result, bool& changed);
  Rewritten node(const Node& node, bool function);
  Rewritten message(MessageKind kind, std::string_view payload, Around around);

  const Document& document_;
  std::span<const GraphEdit> edits_;
  const RewriteTensor& rewrite_;
  std::vector<bool> written_;  // by graph
};

const GraphEdit* Rewriter::edit_of(GraphId graph) const {
  const auto edit = std::find_if(edits_.begin(), edits_.end(), [&](const GraphEdit& candidate) { return candidate.graph == graph; });
  return edit == edits_.end() ? nullptr : &*edit;
}

// A body is written as a separate graph if the node that holds it is kept. Otherwise it is part of a new
// message or dropped.
bool Rewriter::is_written(const Graph& graph) const {
  if (!graph.owner) return true;
  const Graph& outer = document_.graph(document_.node(*graph.owner).graph);
  if (!written_[index(outer.id)]) return false;
  const GraphEdit* edit = edit_of(outer.id);
  if (edit == nullptr || !edit->nodes) return true;
  const auto position = static_cast<std::uint32_t>(index(*graph.owner)) - outer.first_node;
  return std::any_of(edit->nodes->begin(), edit->nodes->end(), [&](const Entry& entry) { return entry.kept == position; });
}

Rewriter::Rewritten Rewriter::message(MessageKind kind, std::string_view payload, Around around) {
  if (kind == MessageKind::tensor) return rewrite_(payload, {}, around.place);
  if (kind == MessageKind::graph && ++around.depth > kMostNested)
    return fail(ErrorCode::limit, "bodies are nested more than " + std::to_string(kMostNested) + " deep");
  if (kind == MessageKind::node) around.constant = is_constant(payload);
  // The message up to the current field, once a field has changed.
  std::optional<std::string> changed;
  WireReader reader(payload);
  for (WireField field; reader.next(field);) {
    MessageKind inner = field.type == WireType::length_delimited ? child(kind, field.number) : MessageKind::none;
    if (inner == MessageKind::graph && !around.with_bodies) inner = MessageKind::none;
    std::optional<std::string> rewritten;
    if (inner != MessageKind::none) {
      Around inside = around;
      inside.place = TensorPlace::other;
      if (kind == MessageKind::graph && inner == MessageKind::tensor) inside.place = TensorPlace::initializer;
      if (kind == MessageKind::attribute && inner == MessageKind::tensor && around.constant && !around.function)
        inside.place = TensorPlace::constant;
      XFLOW_TRY(rewritten, message(inner, field.payload, inside));
    }
    if (rewritten && !changed) changed = std::string(payload.substr(0, static_cast<std::size_t>(field.whole.data() - payload.data())));
    if (!changed) continue;
    if (rewritten) {
      changed->append(WireWriter().header(field.number, rewritten->size()).view()).append(*rewritten);
    } else {
      changed->append(field.whole);
    }
  }
  return changed;
}

Rewriter::Rewritten Rewriter::node(const Node& node, bool function) {
  Around around;
  around.with_bodies = !node.has_bodies();  // bodies of a kept node are separate graphs
  around.function = function;
  XFLOW_TRY(std::optional<std::string> rewritten, message(MessageKind::node, node.payload, around));
  if (rewritten && node.has_bodies())
    return fail(ErrorCode::unsupported, describe(document_, node.id) + " has bodies, and a tensor attribute that would have to be moved");
  return rewritten;
}

Result<void> Rewriter::graph(const Graph& graph, GraphEdit& result, bool& changed) {
  const bool function = graph.kind == GraphKind::function;
  const GraphEdit* edit = edit_of(graph.id);
  // Replaces the entries that `keep` (by position) or `add` changes.
  const auto list = [&](const std::optional<std::vector<Entry>>* given, std::size_t size, std::optional<std::vector<Entry>>& out,
                        const auto& keep, const auto& add) -> Result<void> {
    const bool edited = given != nullptr && given->has_value();
    const std::size_t count = edited ? (*given)->size() : size;
    for (std::size_t i = 0; i < count; ++i) {
      const Entry entry = edited && !(**given)[i].kept ? Entry() : Entry::keep(edited ? *(**given)[i].kept : static_cast<std::uint32_t>(i));
      XFLOW_TRY(std::optional<std::string> rewritten, entry.kept ? keep(*entry.kept) : add((**given)[i]));
      if (!rewritten) continue;
      if (!out) {
        out.emplace();
        for (std::uint32_t k = 0; k < size; ++k) out->push_back(Entry::keep(k));
      }
      (*out)[i] = Entry::add(*std::move(rewritten));
      changed = true;
    }
    return {};
  };
  const auto nodes = document_.nodes(graph.id);
  Around inside;
  inside.function = function;
  XFLOW_CHECK(list(
      edit == nullptr ? nullptr : &edit->nodes, nodes.size(), result.nodes, [&](std::uint32_t i) { return node(nodes[i], function); },
      [&](const Entry& entry) { return message(MessageKind::node, entry.message, inside); }));
  XFLOW_CHECK(list(
      edit == nullptr ? nullptr : &edit->initializers, graph.initializers.size(), result.initializers,
      [&](std::uint32_t i) { return rewrite_(graph.initializers[i].tensor.payload, {}, TensorPlace::initializer); },
      [&](const Entry& entry) { return rewrite_(entry.message, entry.tail, TensorPlace::initializer); }));
  const auto sparse = [&](std::uint32_t i) -> Rewritten {
    WireReader reader(graph.sparse_initializers[i].field);
    WireField field;
    reader.next(field);
    return message(MessageKind::sparse, field.payload, {});
  };
  return list(edit == nullptr ? nullptr : &edit->sparse_initializers, graph.sparse_initializers.size(), result.sparse_initializers, sparse,
              [&](const Entry& entry) { return message(MessageKind::sparse, entry.message, {}); });
}

Result<std::vector<GraphEdit>> Rewriter::run() {
  std::vector<GraphEdit> results(edits_.begin(), edits_.end());
  // A body comes after the graph around it.
  for (const Graph& graph : document_.graphs()) {
    written_[index(graph.id)] = is_written(graph);
    if (!written_[index(graph.id)]) continue;
    GraphEdit* given = nullptr;
    for (GraphEdit& candidate : results) {
      if (candidate.graph == graph.id) given = &candidate;
    }
    GraphEdit fresh;
    fresh.graph = graph.id;
    bool changed = false;
    XFLOW_CHECK(this->graph(graph, given == nullptr ? fresh : *given, changed));
    if (given == nullptr && changed) results.push_back(std::move(fresh));
  }
  return results;
}

}  // namespace

Result<std::vector<GraphEdit>> rewrite_tensors(const Document& document, std::span<const GraphEdit> edits, const RewriteTensor& rewrite) {
  return Rewriter(document, edits, rewrite).run();
}

}  // namespace xflow::onnx_io
