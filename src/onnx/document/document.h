// The document: the bytes of an ONNX model and an index of the byte ranges in it.
//
// Nothing is copied and no protobuf object is built: names are views of the mapped file, tensors and attributes are decoded when somebody
// asks. What xflow does not know (fields, operators, opsets, IR versions) stays in its range and is written back as it came.
// The graphs of a model form a tree: the main graph, the bodies in attributes of nodes (If, Loop, Scan and any other attribute that holds
// a graph), and the bodies of local functions, whose names are scopes of their own. Training graphs (training_info) are kept, not indexed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/onnx/document/document_tensor.h"
#include "src/onnx/document/document_type.h"
#include "src/support/file.h"
#include "xflow/error.h"

namespace xflow::onnx_io {

enum class GraphId : std::uint32_t {};  // 0 is the main graph; a body has a larger id than the graph around it
enum class NodeId : std::uint32_t {};   // counts all nodes of the document; those of one graph are consecutive

constexpr std::size_t index(GraphId id) { return static_cast<std::size_t>(id); }
constexpr std::size_t index(NodeId id) { return static_cast<std::size_t>(id); }
constexpr std::size_t index(FileId id) { return static_cast<std::size_t>(id); }

// AttributeProto.AttributeType.
enum class AttributeType : std::int32_t {
  undefined = 0,
  real = 1,
  integer = 2,
  string = 3,
  tensor = 4,
  graph = 5,
  reals = 6,
  integers = 7,
  strings = 8,
  tensors = 9,
  graphs = 10,
  sparse_tensor = 11,
  sparse_tensors = 12,
  type = 13,
  types = 14,
};

// An AttributeProto. The accessors decode it; they return ill_typed if it is of another kind, unreadable if its bytes are faulty.
struct Attribute {
  std::string_view name;
  AttributeType type = AttributeType::undefined;  // where the file has none (IR version 1), what its fields say
  std::string_view reference;                     // of a node in a local function: the function's attribute that it stands for
  std::vector<GraphId> graphs;                    // field g first, then graphs
  std::string_view payload;                       // the AttributeProto
  std::string_view field;                         // with its tag and length

  Result<std::int64_t> integer() const;
  Result<float> real() const;
  Result<std::string_view> string() const;
  Result<std::vector<std::int64_t>> integers() const;
  Result<std::vector<float>> reals() const;
  Result<std::vector<std::string_view>> strings() const;
  Result<DeclaredType> declared_type() const;
};

// A NodeProto.
struct Node {
  NodeId id{};
  GraphId graph{};
  std::string_view name;
  std::string_view op_type;
  std::string_view domain;  // as in the file: "" and "ai.onnx" are the same, see is_default_domain
  std::string_view overload;
  std::vector<std::string_view> inputs;   // "" is an omitted optional operand
  std::vector<std::string_view> outputs;  // "" is an omitted optional output
  std::vector<Attribute> attributes;
  std::vector<std::string_view> captures;  // outer values that its bodies use, at any depth; each once, in the order of first use
  std::string_view payload;                // the NodeProto
  std::string_view field;                  // with its tag and length

  const Attribute* find(std::string_view attribute) const;  // nullptr if the node has none of that name
  bool has_bodies() const;
  bool is(std::string_view operator_name) const;  // of ONNX's own domain
};

bool is_default_domain(std::string_view domain);

// A ValueInfoProto: an input, an output, or a value whose type is declared.
struct ValueInfo {
  std::string_view name;
  DeclaredType type;
  std::string_view payload;
  std::string_view field;
};

struct Initializer {
  TensorView tensor;
  std::string_view field;  // the TensorProto with its tag and length
};

// A SparseTensorProto; the name is that of its values.
struct SparseInitializer {
  TensorView values;
  TensorView indices;
  std::vector<std::int64_t> dims;
  std::string_view field;
};

// quantization_annotation: parameters of `tensor_name` (key, name of the value that holds it).
struct QuantizationAnnotation {
  std::string_view tensor_name;
  std::vector<std::pair<std::string_view, std::string_view>> parameters;
  std::string_view field;
};

// What a name stands for in a graph. An input may also be an initializer: then the initializer is its default. No other two are one.
struct Definition {
  std::optional<std::uint32_t> input;               // of Graph::inputs or function_inputs
  std::optional<std::uint32_t> initializer;         // of Graph::initializers
  std::optional<std::uint32_t> sparse_initializer;  // of Graph::sparse_initializers
  std::optional<NodeId> node;                       // the node that makes it
  std::uint32_t output = 0;                         // and which of its outputs it is
};

enum class GraphKind : std::uint8_t { main, body, function };

// A GraphProto or the body of a FunctionProto.
struct Graph {
  GraphId id{};
  GraphKind kind = GraphKind::main;
  std::optional<NodeId> owner;  // of a body: the node that holds it
  std::string_view attribute;   // of a body: the name of the attribute
  std::string_view name;
  std::string_view doc_string;
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
  std::vector<std::string_view> function_inputs;  // of a function: names without types
  std::vector<std::string_view> function_outputs;
  std::vector<ValueInfo> value_infos;
  std::vector<Initializer> initializers;
  std::vector<SparseInitializer> sparse_initializers;
  std::vector<QuantizationAnnotation> quantization_annotations;
  std::uint32_t first_node = 0;  // its nodes are first_node .. first_node + node_count - 1, in the order of the file
  std::uint32_t node_count = 0;
  std::vector<NodeId> order;  // topological; the order of the file where that is topological, otherwise as close to it as possible
  bool sorted = true;         // the order of the file is topological, as ONNX demands
  std::unordered_map<std::string_view, Definition> definitions;
  std::vector<std::string_view> pieces;  // the payload; several where the file splits the message, which protobuf merges
};

struct OperatorSet {
  std::string_view domain;
  std::int64_t version = 0;
};

// A FunctionProto.
struct Function {
  GraphId body{};
  std::string_view domain;
  std::string_view name;
  std::string_view overload;
  std::vector<std::string_view> attributes;  // without defaults
  std::vector<Attribute> defaults;           // attributes with defaults (attribute_proto); graphs in them are not indexed
  std::vector<OperatorSet> opsets;
  std::string_view field;
};

// The fields of ModelProto.
struct Model {
  std::int64_t ir_version = 0;
  std::string_view producer_name;
  std::string_view producer_version;
  std::string_view domain;
  std::int64_t model_version = 0;
  std::string_view doc_string;
  std::vector<OperatorSet> opsets;
  std::vector<std::pair<std::string_view, std::string_view>> metadata;
  std::vector<Function> functions;
  std::size_t training_infos = 0;  // how many; their graphs may name values of the main graph
};

// A file with external data.
struct ExternalFile {
  std::string location;  // relative to the model's folder, as in the model
  std::string path;      // at which it was opened
  std::shared_ptr<const FileBytes> content;
};

// What Document::parse cannot know from the bytes.
struct DocumentOrigin {
  std::string name;    // for messages; empty where there is none
  std::string folder;  // where external data lies; empty if the caller has none, and then external data is an error
  std::vector<std::string> allow_external = {};  // folders that may hold external data as well, see ModelFolder
};

// Immutable after it is made; may be read by several threads.
class Document {
 public:
  // Maps the file and indexes it. Errors (unreadable, one line that names the place): the file or a file of external data cannot be
  // opened, is cut or is not an ONNX model; external data that is too short, is not a regular file or lies neither in the model's folder
  // nor in one of `allow_external` (see ModelFolder); a value that is defined twice or used without being defined; a cycle. Nothing else
  // is refused.
  static Result<Document> open(const std::string& path, const std::vector<std::string>& allow_external = {});
  // The same for bytes in memory.
  static Result<Document> parse(std::string bytes, DocumentOrigin origin = {});

  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;
  ~Document();

  const Model& model() const;
  std::span<const Graph> graphs() const;  // in the order of their ids
  const Graph& graph(GraphId id) const;
  const Graph& main() const { return graph(GraphId{0}); }
  std::span<const Node> nodes() const;               // of all graphs
  std::span<const Node> nodes(GraphId graph) const;  // in the order of the file
  const Node& node(NodeId id) const;

  // What `name` stands for in `graph` itself; nullptr if the graph does not define it (it may capture it).
  const Definition* find(GraphId graph, std::string_view name) const;
  // The graph in which a name that `graph` uses is defined: `graph` or the nearest one around it.
  std::optional<GraphId> scope_of(GraphId graph, std::string_view name) const;
  // The version of an operator set that holds for the nodes of `graph`; nothing if it is not imported. "" and "ai.onnx" are one domain.
  std::optional<std::int64_t> opset(GraphId graph, std::string_view domain) const;

  // Tensor attributes; external data is resolved. Errors as the accessors of Attribute.
  Result<TensorView> tensor(const Attribute& attribute) const;
  Result<std::vector<TensorView>> tensors(const Attribute& attribute) const;
  // A tensor of this document as a constant of the IR, which keeps the mapped file alive.
  Result<ir::Constant> constant(const TensorView& tensor) const;

  std::string_view bytes() const;                        // of the model file
  const FileBytes& file() const;                         // which holds them
  Range range(std::string_view part) const;              // where a view of bytes() lies
  std::span<const ExternalFile> external_files() const;  // FileId 1 is the first
  const DocumentOrigin& origin() const;
  // How many nodes there are of each operator, in all graphs: "Conv", "com.microsoft.Gelu".
  std::map<std::string, std::size_t> operator_counts() const;

  struct State;  // of the implementation

 private:
  explicit Document(std::unique_ptr<State> state);
  static Result<Document> index_bytes(std::shared_ptr<const FileBytes> file, DocumentOrigin origin);

  std::unique_ptr<State> state_;
};

// "node 'conv1' (Conv)" or "node 3 of graph 'main' (Conv)" where it has no name: how messages name a node.
std::string describe(const Document& document, NodeId node);

}  // namespace xflow::onnx_io
