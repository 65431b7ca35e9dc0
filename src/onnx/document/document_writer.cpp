#include "src/onnx/document/document_writer.h"

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <set>

#include "src/onnx/document/output_bytes.h"
#include "src/onnx/document/wire.h"

namespace xflow::onnx_io {

namespace {

// The lists of a graph that can be edited.
enum ListKind : std::size_t { kNodeList, kInitializerList, kSparseInitializerList, kValueInfoList, kListKinds };

constexpr std::array<const char*, kListKinds> kListNames = {"nodes", "initializers", "sparse initializers", "value infos"};

// Field numbers in GraphProto and in FunctionProto; 0 if there is no such list.
constexpr std::array<std::uint32_t, kListKinds> kGraphFields = {1, 5, 15, 13};
constexpr std::array<std::uint32_t, kListKinds> kFunctionFields = {7, 0, 0, 12};

const std::optional<std::vector<Entry>>& list_of(const GraphEdit& edit, std::size_t kind) {
  switch (kind) {
    case kNodeList:
      return edit.nodes;
    case kInitializerList:
      return edit.initializers;
    case kSparseInitializerList:
      return edit.sparse_initializers;
    default:
      return edit.value_infos;
  }
}

// A part of the output: bytes of the document or of a new message, or another message.
struct Chunk {
  std::string_view bytes;
  std::int64_t message = -1;  // index in WritePlan::messages, used instead of bytes; -1: none
};

struct Message {
  std::vector<Chunk> chunks;
  std::uint64_t size = 0;
};

// The state of one list while the fields of its graph are walked. Entries are written up to the kept element
// that the walk has reached.
struct ListCursor {
  std::uint32_t field = 0;                      // 0 if graphs of that kind have no such list
  const std::vector<Entry>* entries = nullptr;  // of the edit; nullptr if the list is not edited
  // By original element: its position in `entries`, SIZE_MAX if it is dropped.
  std::vector<std::size_t> position;
  std::size_t next_entry = 0;
  std::uint32_t next_element = 0;
};

// The output as a tree of messages, built from the innermost graphs outwards and flattened at the end.
class WritePlan {
 public:
  WritePlan(const Document& document, std::span<const GraphEdit> edits, const FieldEdits& fields)
      : document_(document), edits_(edits), fields_(fields) {
    for (const std::string_view field : fields.dropped) dropped_.insert(field.data());
  }

  Result<void> build();
  OutputBytes output() &&;

 private:
  static Unexpected invalid(std::string message) { return fail(ErrorCode::invalid_argument, std::move(message)); }

  Result<void> check();
  Result<void> check_list(const Graph& graph, std::size_t kind, const std::vector<Entry>& entries);
  std::size_t list_size(const Graph& graph, std::size_t kind) const;
  ListCursor cursor(const Graph& graph, std::size_t kind) const;
  void element(Message& out, const Graph& graph, std::size_t kind, std::uint32_t i);
  void flush(Message& out, const Graph& graph, std::size_t kind, ListCursor& list, std::size_t end);
  void reach(Message& out, const Graph& graph, std::size_t kind, ListCursor& list);
  void graph(const Graph& graph);
  void node(Message& out, const Node& node);
  Message attribute(const Attribute& attribute);
  void model();
  void append(Message& out, std::string_view bytes);
  void append_message(Message& out, std::uint32_t field, std::int64_t message);
  std::int64_t add_message(Message message);
  void append_new(Message& out, std::uint32_t field, const Entry& entry);
  bool changed(const Node& node) const;
  bool drops(const WireField& field) const { return dropped_.contains(field.whole.data()); }
  bool drops_inside(std::string_view message) const;

  const Document& document_;
  std::span<const GraphEdit> edits_;
  const FieldEdits& fields_;
  std::set<const char*, std::less<>> dropped_;  // where the dropped fields begin
  std::vector<const GraphEdit*> edit_of_;       // by graph
  // By graph: the new payload of each of its pieces; empty if the graph is unchanged.
  std::vector<std::vector<std::int64_t>> piece_messages_;
  std::vector<Message> messages_;
  std::deque<std::string> headers_;  // new tags and lengths
};

void WritePlan::append(Message& out, std::string_view bytes) {
  if (bytes.empty()) return;
  out.size += bytes.size();
  if (!out.chunks.empty()) {
    std::string_view& last = out.chunks.back().bytes;
    // Adjacent ranges of the file become one chunk. Ranges outside the document are not joined, because they
    // may belong to different allocations.
    const std::string_view all = document_.bytes();
    const auto inside = [&](const char* at) { return std::less_equal<>()(all.data(), at) && std::less<>()(at, all.data() + all.size()); };
    if (out.chunks.back().message < 0 && last.data() + last.size() == bytes.data() && inside(last.data()) && inside(bytes.data())) {
      last = std::string_view(last.data(), last.size() + bytes.size());
      return;
    }
  }
  out.chunks.push_back(Chunk{bytes, -1});
}

// Appends a length-delimited field that contains the message with this index.
void WritePlan::append_message(Message& out, std::uint32_t field, std::int64_t message) {
  const std::uint64_t size = messages_[static_cast<std::size_t>(message)].size;
  append(out, headers_.emplace_back(WireWriter().header(field, size).take()));
  out.size += size;
  out.chunks.push_back(Chunk{{}, message});
}

std::int64_t WritePlan::add_message(Message message) {
  messages_.push_back(std::move(message));
  return static_cast<std::int64_t>(messages_.size()) - 1;
}

void WritePlan::append_new(Message& out, std::uint32_t field, const Entry& entry) {
  append(out, headers_.emplace_back(WireWriter().header(field, entry.message.size() + entry.tail.size()).take()));
  append(out, entry.message);
  append(out, entry.tail);
}

bool WritePlan::drops_inside(std::string_view message) const {
  const auto first = dropped_.lower_bound(message.data());
  return first != dropped_.end() && std::less<>()(*first, message.data() + message.size());
}

bool WritePlan::changed(const Node& node) const {
  if (fields_.nodes.contains(node.id) || drops_inside(node.payload)) return true;
  for (const Attribute& attribute : node.attributes) {
    for (const GraphId body : attribute.graphs) {
      if (!piece_messages_[index(body)].empty()) return true;
    }
  }
  return false;
}

// Writes a kept node: unchanged, or with new bodies in its attributes and edited fields.
void WritePlan::node(Message& out, const Node& node) {
  if (!changed(node)) return append(out, node.field);
  Message message;
  std::size_t attribute = 0;
  WireReader reader(node.payload);
  for (WireField field; reader.next(field);) {
    if (drops(field)) continue;
    if (field.is_bytes(5)) {
      append_message(message, field.number, add_message(this->attribute(node.attributes[attribute++])));
    } else {
      append(message, field.whole);
    }
  }
  if (const auto added = fields_.nodes.find(node.id); added != fields_.nodes.end()) append(message, added->second);
  append_message(out, document_.graph(node.graph).kind == GraphKind::function ? 7 : 1, add_message(std::move(message)));
}

// The bodies of an attribute are field g, perhaps in several pieces, followed by the fields `graphs`.
Message WritePlan::attribute(const Attribute& attribute) {
  const auto is_body = [](const WireField& field) { return field.is_bytes(6) || field.is_bytes(11); };
  Message message;
  std::size_t piece = 0;
  std::size_t listed = 0;
  WireReader first(attribute.payload);
  for (WireField field; first.next(field);) {
    if (field.is_bytes(6)) listed = 1;
  }
  WireReader reader(attribute.payload);
  for (WireField field; reader.next(field);) {
    if (!is_body(field)) {
      append(message, field.whole);
      continue;
    }
    const bool is_single = field.number == 6;
    const std::vector<std::int64_t>& pieces = piece_messages_[index(attribute.graphs[is_single ? 0 : listed++])];
    const std::size_t i = is_single ? piece++ : 0;
    if (pieces.empty()) {
      append(message, field.whole);
    } else {
      append_message(message, field.number, pieces[i]);
    }
  }
  return message;
}

std::size_t WritePlan::list_size(const Graph& graph, std::size_t kind) const {
  switch (kind) {
    case kNodeList:
      return graph.node_count;
    case kInitializerList:
      return graph.initializers.size();
    case kSparseInitializerList:
      return graph.sparse_initializers.size();
    default:
      return graph.value_infos.size();
  }
}

Result<void> WritePlan::check_list(const Graph& graph, std::size_t kind, const std::vector<Entry>& entries) {
  const std::string what = std::string(kListNames[kind]) + " of graph " + std::to_string(index(graph.id));
  if (graph.kind == GraphKind::function && kFunctionFields[kind] == 0) return invalid("cannot edit the " + what + ": a function has none");
  std::vector<bool> seen(list_size(graph, kind));
  for (const Entry& entry : entries) {
    if (!entry.kept) continue;
    if (*entry.kept >= seen.size()) {
      return invalid("an edit keeps element " + std::to_string(*entry.kept) + " of the " + what + ", which has " +
                     std::to_string(seen.size()));
    }
    if (seen[*entry.kept]) return invalid("an edit keeps element " + std::to_string(*entry.kept) + " of the " + what + " twice");
    seen[*entry.kept] = true;
  }
  return {};
}

Result<void> WritePlan::check() {
  edit_of_.assign(document_.graphs().size(), nullptr);
  for (const GraphEdit& edit : edits_) {
    if (index(edit.graph) >= edit_of_.size())
      return invalid("an edit of graph " + std::to_string(index(edit.graph)) + ", which does not exist");
    if (edit_of_[index(edit.graph)] != nullptr) return invalid("two edits of graph " + std::to_string(index(edit.graph)));
    edit_of_[index(edit.graph)] = &edit;
    for (std::size_t kind = 0; kind < kListKinds; ++kind) {
      if (list_of(edit, kind)) XFLOW_CHECK(check_list(document_.graph(edit.graph), kind, *list_of(edit, kind)));
    }
  }
  return {};
}

ListCursor WritePlan::cursor(const Graph& graph, std::size_t kind) const {
  ListCursor list;
  list.field = (graph.kind == GraphKind::function ? kFunctionFields : kGraphFields)[kind];
  const GraphEdit* edit = edit_of_[index(graph.id)];
  if (edit == nullptr || !list_of(*edit, kind)) return list;
  list.entries = &*list_of(*edit, kind);
  list.position.assign(list_size(graph, kind), SIZE_MAX);
  for (std::size_t i = 0; i < list.entries->size(); ++i) {
    if ((*list.entries)[i].kept) list.position[*(*list.entries)[i].kept] = i;
  }
  return list;
}

// Writes a kept element of the original.
void WritePlan::element(Message& out, const Graph& graph, std::size_t kind, std::uint32_t i) {
  switch (kind) {
    case kNodeList:
      return node(out, document_.nodes(graph.id)[i]);
    case kInitializerList:
      return append(out, graph.initializers[i].field);
    case kSparseInitializerList:
      return append(out, graph.sparse_initializers[i].field);
    default:
      return append(out, graph.value_infos[i].field);
  }
}

// Writes the entries before `end`.
void WritePlan::flush(Message& out, const Graph& graph, std::size_t kind, ListCursor& list, std::size_t end) {
  for (; list.next_entry < end; ++list.next_entry) {
    const Entry& entry = (*list.entries)[list.next_entry];
    if (entry.kept) {
      element(out, graph, kind, *entry.kept);
    } else {
      append_new(out, list.field, entry);
    }
  }
}

// Handles the next original element of a list.
void WritePlan::reach(Message& out, const Graph& graph, std::size_t kind, ListCursor& list) {
  const std::uint32_t i = list.next_element++;
  if (list.entries == nullptr) return element(out, graph, kind, i);
  if (list.position[i] != SIZE_MAX) flush(out, graph, kind, list, list.position[i] + 1);
  if (list.next_element == list.position.size()) flush(out, graph, kind, list, list.entries->size());
}

void WritePlan::graph(const Graph& graph) {
  const auto nodes = document_.nodes(graph.id);
  const bool has_changed_node = std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) { return changed(node); });
  if (edit_of_[index(graph.id)] == nullptr && !has_changed_node &&
      std::ranges::none_of(graph.pieces, [&](std::string_view piece) { return drops_inside(piece); }))
    return;
  std::array<ListCursor, kListKinds> lists;
  for (std::size_t kind = 0; kind < kListKinds; ++kind) lists[kind] = cursor(graph, kind);
  std::vector<Message> pieces;
  for (const std::string_view piece : graph.pieces) {
    Message& out = pieces.emplace_back();
    WireReader reader(piece);
    for (WireField field; reader.next(field);) {
      if (drops(field)) continue;
      std::size_t kind = 0;
      while (kind < kListKinds && !(lists[kind].field != 0 && field.is_bytes(lists[kind].field))) ++kind;
      if (kind == kListKinds) {
        append(out, field.whole);
      } else {
        reach(out, graph, kind, lists[kind]);
      }
    }
  }
  // Lists that the original does not have.
  for (std::size_t kind = 0; kind < kListKinds; ++kind) {
    if (lists[kind].entries != nullptr) flush(pieces.back(), graph, kind, lists[kind], lists[kind].entries->size());
  }
  for (Message& piece : pieces) piece_messages_[index(graph.id)].push_back(add_message(std::move(piece)));
}

void WritePlan::model() {
  Message out;
  std::size_t main_piece = 0;
  std::size_t function = 0;
  bool has_version = false;
  WireReader reader(document_.bytes());
  for (WireField field; reader.next(field);) {
    if (drops(field)) continue;
    if (fields_.ir_version && field.is_varint(1)) {
      append(out, headers_.emplace_back(WireWriter().varint(1, *fields_.ir_version).take()));
      has_version = true;
      continue;
    }
    std::int64_t target = -1;
    if (field.is_bytes(7) && !piece_messages_[0].empty()) target = piece_messages_[0][main_piece++];
    if (field.is_bytes(25)) {
      const auto& pieces = piece_messages_[index(document_.model().functions[function++].body)];
      if (!pieces.empty()) target = pieces[0];
    }
    if (target < 0) {
      append(out, field.whole);
      continue;
    }
    append_message(out, field.number, target);
  }
  if (fields_.ir_version && !has_version) append(out, headers_.emplace_back(WireWriter().varint(1, *fields_.ir_version).take()));
  append(out, fields_.model);
  add_message(std::move(out));
}

Result<void> WritePlan::build() {
  XFLOW_CHECK(check());
  const auto graphs = document_.graphs();
  piece_messages_.resize(graphs.size());
  for (std::size_t i = graphs.size(); i-- > 0;) graph(graphs[i]);
  model();
  return {};
}

OutputBytes WritePlan::output() && {
  OutputBytes output;
  output.size = messages_.back().size;
  std::vector<std::pair<std::size_t, std::size_t>> stack{{messages_.size() - 1, 0}};  // message, next chunk
  while (!stack.empty()) {
    auto& [message, next] = stack.back();
    if (next == messages_[message].chunks.size()) {
      stack.pop_back();
      continue;
    }
    const Chunk& chunk = messages_[message].chunks[next++];
    if (chunk.message < 0) {
      output.chunks.push_back(chunk.bytes);
    } else {
      stack.emplace_back(static_cast<std::size_t>(chunk.message), 0);
    }
  }
  // Moving a deque keeps its elements in place.
  output.headers = std::move(headers_);
  return output;
}

}  // namespace

Result<OutputBytes> output_bytes(const Document& document, std::span<const GraphEdit> edits, const FieldEdits& fields) {
  WritePlan plan(document, edits, fields);
  XFLOW_CHECK(plan.build());
  return std::move(plan).output();
}

Result<std::string> write_bytes(const Document& document, std::span<const GraphEdit> edits, const FieldEdits& fields) {
  XFLOW_TRY(const OutputBytes output, output_bytes(document, edits, fields));
  std::string bytes;
  bytes.reserve(output.size);
  for (const std::string_view chunk : output.chunks) bytes.append(chunk);
  return bytes;
}

}  // namespace xflow::onnx_io
