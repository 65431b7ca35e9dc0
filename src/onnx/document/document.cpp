#include "src/onnx/document/document.h"

#include <algorithm>

#include "src/onnx/document/document_state.h"
#include "src/onnx/document/external.h"
#include "src/onnx/document/wire.h"
#include "src/support/printable.h"

namespace xflow::onnx_io {

Document::Document(std::unique_ptr<State> state) : state_(std::move(state)) {}
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;
Document::~Document() = default;

Result<Document> Document::index_bytes(std::shared_ptr<const FileBytes> file, DocumentOrigin origin) {
  auto state = std::make_unique<State>();
  state->file = std::move(file);
  state->origin = std::move(origin);
  // A missing allowed folder is an error for every model.
  XFLOW_CHECK(ModelFolder::open({}, state->origin.allow_external));
  XFLOW_CHECK(index_model(*state));
  XFLOW_CHECK(resolve_names(*state));
  return Document(std::move(state));
}

Result<Document> Document::open(const std::string& path, const std::vector<std::string>& allow_external) {
  XFLOW_TRY(auto file, FileBytes::open(path));
  if (path == "-") return index_bytes(std::move(file), DocumentOrigin{"standard input", "", allow_external});
  return index_bytes(std::move(file), DocumentOrigin{path, folder_of(path), allow_external});
}

Result<Document> Document::parse(std::string bytes, DocumentOrigin origin) {
  return index_bytes(FileBytes::own(std::move(bytes)), std::move(origin));
}

const Model& Document::model() const { return state_->model; }
std::span<const Graph> Document::graphs() const { return state_->graphs; }
const Graph& Document::graph(GraphId id) const { return state_->graphs[index(id)]; }
std::span<const Node> Document::nodes() const { return state_->nodes; }
const Node& Document::node(NodeId id) const { return state_->nodes[index(id)]; }
std::string_view Document::bytes() const { return state_->file->bytes(); }
const FileBytes& Document::file() const { return *state_->file; }
std::span<const ExternalFile> Document::external_files() const { return state_->files; }
const DocumentOrigin& Document::origin() const { return state_->origin; }

std::span<const Node> Document::nodes(GraphId id) const { return nodes().subspan(graph(id).first_node, graph(id).node_count); }

Range Document::range(std::string_view part) const { return Range{static_cast<std::uint64_t>(part.data() - bytes().data()), part.size()}; }

const Definition* Document::find(GraphId id, std::string_view name) const {
  const auto& definitions = graph(id).definitions;
  const auto at = definitions.find(name);
  return at == definitions.end() ? nullptr : &at->second;
}

std::optional<GraphId> Document::scope_of(GraphId id, std::string_view name) const {
  while (find(id, name) == nullptr) {
    if (!graph(id).owner) return std::nullopt;
    id = node(*graph(id).owner).graph;
  }
  return id;
}

std::optional<std::int64_t> Document::opset(GraphId id, std::string_view domain) const {
  while (graph(id).owner) id = node(*graph(id).owner).graph;
  std::span<const OperatorSet> imports = model().opsets;
  for (const Function& function : model().functions) {
    if (function.body == id) imports = function.opsets;
  }
  for (const OperatorSet& import : imports) {
    if (import.domain == domain || (is_default_domain(import.domain) && is_default_domain(domain))) return import.version;
  }
  return std::nullopt;
}

Result<TensorView> Document::tensor(const Attribute& attribute) const {
  XFLOW_TRY(auto list, tensors(attribute));
  const std::string name = "attribute " + in_quotes(attribute.name);
  if (attribute.type != AttributeType::tensor) return fail(ErrorCode::ill_typed, name + " is a list of tensors, expected a tensor");
  if (list.size() != 1) {
    return fail(ErrorCode::unsupported, name + " has its tensor in " + std::to_string(list.size()) + " pieces, expected 1");
  }
  return std::move(list.front());
}

Result<std::vector<TensorView>> Document::tensors(const Attribute& attribute) const {
  const std::uint32_t number = attribute.type == AttributeType::tensor ? 5 : 10;
  if (!attribute.reference.empty() || (number == 10 && attribute.type != AttributeType::tensors)) {
    return fail(ErrorCode::ill_typed, "attribute " + in_quotes(attribute.name) + " is not a tensor");
  }
  std::vector<TensorView> list;
  WireReader reader(attribute.payload);
  for (WireField field; reader.next(field);) {
    if (!field.is_bytes(number)) continue;
    XFLOW_TRY(TensorView view, parse_tensor(field.payload));
    if (view.storage == TensorStorage::external) {
      XFLOW_CHECK(resolve_open(view, state_->files));
    } else {
      view.range = range(view.storage == TensorStorage::raw ? view.bytes : view.payload);
    }
    list.push_back(std::move(view));
  }
  return list;
}

Result<ir::Constant> Document::constant(const TensorView& tensor) const {
  const bool is_external = tensor.storage == TensorStorage::external;
  return onnx_io::constant(tensor, is_external ? state_->files[index(tensor.file) - 1].content : state_->file);
}

std::map<std::string, std::size_t> Document::operator_counts() const {
  std::map<std::string, std::size_t> counts;
  for (const Node& node : nodes()) {
    const std::string prefix = is_default_domain(node.domain) ? std::string() : std::string(node.domain) + ".";
    ++counts[prefix + std::string(node.op_type)];
  }
  return counts;
}

std::string describe(const Document::State& state, GraphId id) {
  const Graph& graph = state.graphs[index(id)];
  const std::string name(graph.name);
  if (graph.kind == GraphKind::main) return name.empty() ? "the main graph" : "graph " + in_quotes(name);
  if (graph.kind == GraphKind::function) return "function " + in_quotes(name);
  return "graph " + printable(graph.attribute) + " of " + describe(state, *graph.owner);
}

namespace {

// Returns "node 'conv1' (Conv)" without the place, or nothing if the node has no name.
std::string named(const Node& node) {
  return node.name.empty() ? std::string() : "node " + in_quotes(node.name) + " (" + printable(node.op_type) + ")";
}

// A node without a name is described by its position. Enclosing graphs are named one level up only, which
// bounds the text and the stack.
std::string positioned(std::span<const Graph> graphs, std::span<const Node> nodes, const Node& node) {
  const Graph& graph = graphs[index(node.graph)];
  std::string place = graph.kind == GraphKind::function ? "function " + in_quotes(graph.name) : "the main graph";
  if (graph.kind == GraphKind::main && !graph.name.empty()) place = "graph " + in_quotes(graph.name);
  if (graph.kind == GraphKind::body) {
    const Node& owner = nodes[index(*graph.owner)];
    const std::string owner_text = named(owner);
    place = "graph " + printable(graph.attribute) + " of " + (owner_text.empty() ? "an unnamed " + printable(owner.op_type) : owner_text);
  }
  const std::size_t position = index(node.id) - graph.first_node;
  return "node " + std::to_string(position) + " of " + place + " (" + printable(node.op_type) + ")";
}

}  // namespace

const ValueInfo* find_info(std::span<const ValueInfo> list, std::string_view name) {
  const auto found = std::ranges::find(list, name, &ValueInfo::name);
  return found == list.end() ? nullptr : &*found;
}

std::string describe(const Document::State& state, NodeId id) {
  const Node& node = state.nodes[index(id)];
  const std::string text = named(node);
  return text.empty() ? positioned(state.graphs, state.nodes, node) : text;
}

std::string describe(const Document& document, NodeId id) {
  const Node& node = document.node(id);
  const std::string text = named(node);
  return text.empty() ? positioned(document.graphs(), document.nodes(), node) : text;
}

}  // namespace xflow::onnx_io
