// The document: the bytes of an ONNX model and an index of the byte ranges in it.
//
// Nothing is copied and no protobuf object is built: names are views of the mapped file; tensors and
// attributes are decoded on demand. Fields, operators, opsets and IR versions that xflow does not know keep
// their bytes and are written back unchanged.
//
// The graphs of a model form a tree: the main graph, the bodies in attributes of nodes (If, Loop, Scan and
// any other attribute that holds a graph), and the bodies of local functions, whose names are scopes of
// their own. Training graphs (training_info) are kept, but not indexed.
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
// Numbers all nodes of the document; those of one graph are consecutive.
enum class NodeId : std::uint32_t {};

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

// An AttributeProto. The accessors decode it. Errors: ill_typed for an attribute of another kind, unreadable
// for faulty bytes.
struct Attribute {
  std::string_view name;
  // If the file has no type (IR version 1), the type that its fields imply.
  AttributeType type = AttributeType::undefined;
  // In a node of a local function: the attribute of the function that this attribute refers to.
  std::string_view reference;
  std::vector<GraphId> graphs;  // field g first, then graphs
  std::string_view payload;     // the AttributeProto
  std::string_view field;       // with its tag and length

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
  // The outer values that its bodies use, at any depth. Each value is listed once, in the order of first
  // use.
  std::vector<std::string_view> captures;
  std::string_view payload;  // the NodeProto
  std::string_view field;    // with its tag and length

  const Attribute* find(std::string_view attribute) const;  // nullptr if the node has none of that name
  bool has_bodies() const;
  bool is(std::string_view operator_name) const;  // whether it is this operator of ONNX's own domain
};

bool is_default_domain(std::string_view domain);

// A ValueInfoProto: an input, an output, or a value whose type is declared.
struct ValueInfo {
  std::string_view name;
  DeclaredType type;
  std::string_view payload;
  std::string_view field;
};
// The declaration of the value `name`; null if there is none.
const ValueInfo* find_info(std::span<const ValueInfo> list, std::string_view name);

struct Initializer {
  TensorView tensor;
  std::string_view field;  // the TensorProto with its tag and length
};

// A SparseTensorProto. Its name is the name of `values`.
struct SparseInitializer {
  TensorView values;
  TensorView indices;
  std::vector<std::int64_t> dims;
  std::string_view field;
};

// A quantization_annotation: the parameters of `tensor_name` as pairs of a key and the name of the value
// that holds it.
struct QuantizationAnnotation {
  std::string_view tensor_name;
  std::vector<std::pair<std::string_view, std::string_view>> parameters;
  std::string_view field;
};

// The definition of a name in a graph. A name may be an input and an initializer (or sparse initializer):
// the initializer is the default of the input. Any other combination is an error.
struct Definition {
  std::optional<std::uint32_t> input;               // index in Graph::inputs or function_inputs
  std::optional<std::uint32_t> initializer;         // index in Graph::initializers
  std::optional<std::uint32_t> sparse_initializer;  // index in Graph::sparse_initializers
  std::optional<NodeId> node;                       // the node that produces the value
  std::uint32_t output = 0;                         // the index of the value among the outputs of that node
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
  // Topological: the order of the file if that is topological, otherwise as close to it as possible.
  std::vector<NodeId> order;
  bool sorted = true;  // whether the order of the file is topological, as ONNX demands
  std::unordered_map<std::string_view, Definition> definitions;
  // The payload. There are several pieces if the file splits the message, which protobuf merges.
  std::vector<std::string_view> pieces;
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
  // Attributes with defaults (attribute_proto). Graphs in them are not indexed.
  std::vector<Attribute> defaults;
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
  std::size_t training_infos = 0;  // number of training graphs, which may name values of the main graph
};

// A file with external data.
struct ExternalFile {
  std::string location;  // relative to the model's folder, as in the model
  std::string path;      // path at which the file was opened
  std::shared_ptr<const FileBytes> content;
};

// Properties of a document that its bytes do not contain.
struct DocumentOrigin {
  std::string name;  // for messages; may be empty
  // The folder with the external data. If it is empty, external data is an error.
  std::string folder;
  // Further folders that may hold external data, see ModelFolder.
  std::vector<std::string> allow_external = {};
};

// A parsed model. Immutable; several threads may read it.
class Document {
 public:
  // Maps the file and indexes it. Errors (unreadable, one line that names the place):
  // - the file or a file of external data cannot be opened, is truncated or is not an ONNX model;
  // - external data is too short, is not a regular file, or lies neither in the model's folder nor in one of
  //   `allow_external` (see ModelFolder);
  // - a value is defined twice, or used and not defined;
  // - the nodes have a cycle.
  // Nothing else is refused.
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

  // Returns the definition of `name` in `graph` itself; nullptr if the graph does not define it (it may
  // capture it).
  const Definition* find(GraphId graph, std::string_view name) const;
  // Returns the graph that defines a name used in `graph`: `graph` or the nearest enclosing graph that
  // defines it.
  std::optional<GraphId> scope_of(GraphId graph, std::string_view name) const;
  // Returns the version of an operator set for the nodes of `graph`; nothing if it is not imported. "" and
  // "ai.onnx" are one domain.
  std::optional<std::int64_t> opset(GraphId graph, std::string_view domain) const;

  // Returns the tensors of an attribute, with external data resolved. Errors: as the accessors of Attribute.
  Result<TensorView> tensor(const Attribute& attribute) const;
  Result<std::vector<TensorView>> tensors(const Attribute& attribute) const;
  // Returns a tensor of this document as a constant of the IR. The constant keeps the mapped file alive.
  Result<ir::Constant> constant(const TensorView& tensor) const;

  std::string_view bytes() const;                        // the model file
  const FileBytes& file() const;                         // the mapped model file
  Range range(std::string_view part) const;              // offset and length of a view of bytes()
  std::span<const ExternalFile> external_files() const;  // FileId 1 is the first
  const DocumentOrigin& origin() const;
  // Returns the number of nodes of each operator over all graphs: "Conv", "com.microsoft.Gelu".
  std::map<std::string, std::size_t> operator_counts() const;

  struct State;  // private to the implementation

 private:
  explicit Document(std::unique_ptr<State> state);
  static Result<Document> index_bytes(std::shared_ptr<const FileBytes> file, DocumentOrigin origin);

  std::unique_ptr<State> state_;
};

// Returns the name of a node in messages: "node 'conv1' (Conv)", or "node 3 of graph 'main' (Conv)" for a
// node without a name.
std::string describe(const Document& document, NodeId node);

}  // namespace xflow::onnx_io
