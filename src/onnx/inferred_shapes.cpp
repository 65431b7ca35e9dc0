#include "src/onnx/inferred_shapes.h"

#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <exception>
#include <unordered_set>

namespace xflow::onnx_io {
namespace {

namespace proto = xflow_onnx;

constexpr std::uint64_t kMostElements = 1024;  // of an initializer whose elements may be read: shapes, axes, scales

// A field of the document with its tag and length, as part of `message`.
template <typename Message>
bool merge(Message& message, std::string_view field) {
  return field.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()) && message.MergeFromString({field.data(), field.size()});
}

class Inference {
 public:
  Inference(const Document& document, std::span<const InputDims> inputs) : document_(document) {
    for (const InputDims& input : inputs) given_.emplace(input.name, &input.dims);
  }

  std::unordered_map<std::string, InferredType> run() {
    if (!build()) return {};
    try {
      const proto::ShapeInferenceOptions options(/*check_type=*/false, /*strict_mode=*/0, /*data_prop=*/true);
      proto::shape_inference::InferShapes(model_, proto::OpSchemaRegistry::Instance(), options);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): ONNX refuses the model; what it found before is right
    }
    std::unordered_map<std::string, InferredType> types;
    for (const auto* list : {&model_.graph().value_info(), &model_.graph().output()})
      for (const proto::ValueInfoProto& value : *list) add(value, types);
    return types;
  }

 private:
  bool build() {
    const Graph& main = document_.main();
    model_.set_ir_version(document_.model().ir_version);
    std::unordered_set<std::string_view> imported;
    const auto import_domain = [&](std::string_view domain, std::int64_t version) {
      if (!imported.insert(domain).second) return;
      auto* import = model_.add_opset_import();
      import->set_domain(std::string(domain));
      import->set_version(version);
    };
    for (const OperatorSet& opset : document_.model().opsets)
      import_domain(is_default_domain(opset.domain) ? std::string_view() : opset.domain, opset.version);
    // ONNX infers nothing of a model that uses a domain without importing it.
    for (const Node& node : document_.nodes())
      if (!is_default_domain(node.domain)) import_domain(node.domain, 1);
    for (const Function& function : document_.model().functions)
      if (!merge(model_, function.field)) return false;
    proto::GraphProto& graph = *model_.mutable_graph();
    graph.set_name("g");
    for (const ValueInfo& input : main.inputs) add_input(graph, input);
    for (const Initializer& initializer : main.initializers) add_initializer(graph, initializer);
    for (const SparseInitializer& sparse : main.sparse_initializers) add_typed(graph, sparse.values.name, sparse.values, sparse.dims);
    for (const NodeId id : main.order)
      if (!merge(graph, document_.node(id).field)) return false;
    for (const ValueInfo& output : main.outputs) graph.add_output()->set_name(std::string(output.name));
    return add_declared(graph);
  }

  void add_input(proto::GraphProto& graph, const ValueInfo& input) {
    const auto given = given_.find(input.name);
    auto* info = graph.add_input();
    info->set_name(std::string(input.name));
    if (input.type.kind != DeclaredType::Kind::tensor) {
      graph.mutable_input()->RemoveLast();
      merge(graph, input.field);
      return;
    }
    auto* tensor = info->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(input.type.data_type_number);
    if (!input.type.ranked) return;
    auto* shape = tensor->mutable_shape();
    for (std::size_t k = 0; k < input.type.dims.size(); ++k) {
      const Dimension& declared = input.type.dims[k];
      auto* dim = shape->add_dim();
      if (given != given_.end() && given->second->size() == input.type.dims.size()) {
        dim->set_dim_value((*given->second)[k]);
      } else if (declared.kind == Dimension::Kind::value && declared.value >= 0) {
        dim->set_dim_value(declared.value);
      }
    }
  }

  void add_initializer(proto::GraphProto& graph, const Initializer& initializer) {
    const TensorView& tensor = initializer.tensor;
    const auto elements = tensor.elements();
    std::string decoded;
    auto* added = graph.add_initializer();
    added->set_name(std::string(tensor.name));
    added->set_data_type(tensor.data_type_number);
    for (const std::int64_t dim : tensor.dims) added->add_dims(dim);
    if (elements && *elements <= kMostElements) {
      if (const auto raw = raw_bytes(tensor, decoded)) {
        added->set_raw_data(std::string(*raw));
        return;
      }
    }
    // An initializer without elements is none that ONNX may read: it is an input of known type.
    graph.mutable_initializer()->RemoveLast();
    add_typed(graph, tensor.name, tensor, tensor.dims);
  }

  static void add_typed(proto::GraphProto& graph, std::string_view name, const TensorView& tensor, const std::vector<std::int64_t>& dims) {
    const auto same = [&](const proto::ValueInfoProto& input) { return input.name() == name; };
    if (std::any_of(graph.input().begin(), graph.input().end(), same)) return;
    auto* info = graph.add_input();
    info->set_name(std::string(name));
    auto* type = info->mutable_type()->mutable_tensor_type();
    type->set_elem_type(tensor.data_type_number);
    auto* shape = type->mutable_shape();
    for (const std::int64_t dim : dims) shape->add_dim()->set_dim_value(dim);
  }

  // What is declared of results of operators without a schema.
  bool add_declared(proto::GraphProto& graph) {
    std::unordered_set<std::string_view> unknown;
    for (const Node& node : document_.nodes(GraphId{0})) {
      const std::string domain(is_default_domain(node.domain) ? std::string_view() : node.domain);
      const auto version = document_.opset(GraphId{0}, domain);
      const auto newest = static_cast<int>(std::min<std::int64_t>(version.value_or(1), std::numeric_limits<int>::max()));
      if (proto::OpSchemaRegistry::Schema(std::string(node.op_type), newest, domain) != nullptr) continue;
      unknown.insert(node.outputs.begin(), node.outputs.end());
    }
    const auto declare = [&](const ValueInfo& info) {
      if (!unknown.contains(info.name) || info.type.kind != DeclaredType::Kind::tensor) return true;
      proto::ValueInfoProto message;
      if (!merge(message, info.payload)) return false;
      message.set_name(std::string(info.name));
      *graph.add_value_info() = std::move(message);
      return true;
    };
    return std::ranges::all_of(document_.main().value_infos, declare) && std::ranges::all_of(document_.main().outputs, declare);
  }

  static void add(const proto::ValueInfoProto& value, std::unordered_map<std::string, InferredType>& types) {
    if (!value.type().has_tensor_type() || !value.type().tensor_type().has_shape()) return;
    const auto& tensor = value.type().tensor_type();
    InferredType type;
    if (tensor.elem_type() > 0 && tensor.elem_type() <= static_cast<int>(ir::DataType::int2))
      type.data_type = static_cast<ir::DataType>(tensor.elem_type());
    for (const auto& dim : tensor.shape().dim())
      type.dims.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? std::optional(dim.dim_value()) : std::nullopt);
    types.insert_or_assign(value.name(), std::move(type));
  }

  const Document& document_;
  std::unordered_map<std::string_view, const std::vector<std::int64_t>*> given_;
  proto::ModelProto model_;
};

}  // namespace

std::unordered_map<std::string, InferredType> infer_types(const Document& document, std::span<const InputDims> inputs) {
  return Inference(document, inputs).run();
}

}  // namespace xflow::onnx_io
