#include "src/onnx/lift/inferred_shapes.h"

#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_set>

#include "src/onnx/lift/body_types.h"
#include "src/onnx/lift/lift_operator.h"

namespace xflow::onnx_io {
namespace {

namespace proto = xflow_onnx;

constexpr std::string_view kMachineLearning = "ai.onnx.ml";

constexpr std::int64_t kMostElements = 1024;  // of a vector that may be a shape
// Of a node. A larger node has a tensor in an attribute.
constexpr std::size_t kMostBytes = std::size_t{64} << 20U;

// The dimensions and, if known, the elements of an operand.
struct Operand {
  std::string_view name;
  ir::DataType data_type = ir::DataType::undefined;
  bool ranked = false;
  std::vector<std::optional<std::int64_t>> dims;
  std::optional<std::string> elements;
};

void add_type(proto::TypeProto& type, const Operand& operand) {
  auto* tensor = type.mutable_tensor_type();
  tensor->set_elem_type(static_cast<int>(operand.data_type));
  if (!operand.ranked) return;
  auto* shape = tensor->mutable_shape();
  for (const auto& size : operand.dims) {
    auto* dim = shape->add_dim();
    if (size) dim->set_dim_value(*size);
  }
}

void add_operand(proto::GraphProto& graph, const Operand& operand) {
  if (!operand.elements) {
    auto* input = graph.add_input();
    input->set_name(std::string(operand.name));
    add_type(*input->mutable_type(), operand);
    return;
  }
  auto* initializer = graph.add_initializer();
  initializer->set_name(std::string(operand.name));
  initializer->set_data_type(static_cast<int>(operand.data_type));
  for (const auto& size : operand.dims) initializer->add_dims(*size);
  initializer->set_raw_data(*operand.elements);
}

// Returns the elements in the layout of raw_data.
std::optional<std::string> elements_of(const ir::Arena& arena, ops::IntegerContent& contents, ir::ValueId value,
                                       std::span<const std::optional<std::int64_t>> dims,
                                       const std::function<std::optional<std::int64_t>(const ir::Poly&)>& size_of) {
  const auto raw = [](const ir::Constant& constant) -> std::optional<std::string> {
    const auto bytes = constant.source->bytes();
    if (!bytes) return std::nullopt;
    return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  };
  const ir::Node& node = arena.node(value);
  if (node.kind == ir::NodeKind::constant) return node.constant.is_small() ? raw(node.constant) : std::nullopt;
  const ir::DataType data_type = arena.type(value).data_type;
  if (data_type != ir::DataType::int64 && data_type != ir::DataType::int32) return std::nullopt;
  const auto polys = contents.of(value);
  if (!polys) return std::nullopt;
  std::vector<std::int64_t> known_dims;
  for (const auto& size : dims) known_dims.push_back(size.value_or(-1));
  std::vector<std::int64_t> elements;
  for (const ir::Poly& poly : *polys) {
    const auto element = size_of(poly);
    if (!element || (data_type == ir::DataType::int32 && *element != static_cast<std::int32_t>(*element))) return std::nullopt;
    elements.push_back(*element);
  }
  if (std::ranges::find(known_dims, -1) != known_dims.end()) return std::nullopt;
  return raw(ir::make_integer_constant(data_type, std::move(known_dims), elements));
}

bool has_word(std::string_view name, std::string_view word) { return name.find(word) != std::string_view::npos; }

// Checks the integers of an attribute. ONNX's functions use them as indices and divisors without checking.
// Tensors in attributes of ai.onnx.ml must be lists, because ONNX reads their length.
bool is_sound(const proto::AttributeProto& attribute, std::int64_t rank, bool of_lists) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
  const std::string& name = attribute.name();
  const bool is_axis = has_word(name, "axis") || has_word(name, "axes") || name == "perm" || has_word(name, "_dims");
  const bool is_positive = has_word(name, "stride") || has_word(name, "dilation") || has_word(name, "kernel") || has_word(name, "group") ||
                           has_word(name, "block") || has_word(name, "_size") || has_word(name, "num_");
  const auto fits = [&](std::int64_t value) {
    if (is_axis) return value >= -rank && value < std::max<std::int64_t>(rank, 1);
    return is_positive ? value >= 1 && value <= kLargest : value >= -kLargest && value <= kLargest;
  };
  if (of_lists && attribute.type() == proto::AttributeProto::TENSOR && attribute.t().dims_size() != 1) return false;
  // The value is 0 if the field is missing.
  if (attribute.type() == proto::AttributeProto::INT && !fits(attribute.i())) return false;
  return std::all_of(attribute.ints().begin(), attribute.ints().end(), fits);
}

bool is_as_its_schema_says(const proto::OpSchema& schema, const proto::NodeProto& node, std::span<const Operand> operands) {
  try {
    schema.Verify(node);
  } catch (const std::exception&) {
    return false;
  }
  std::int64_t rank = 0;  // of the first operand, to which axes in attributes refer
  for (const Operand& operand : operands.first(std::min<std::size_t>(operands.size(), 1))) {
    if (!operand.ranked) return false;
    rank = static_cast<std::int64_t>(operand.dims.size());
  }
  return std::all_of(node.attribute().begin(), node.attribute().end(),
                     [&](const proto::AttributeProto& attribute) { return is_sound(attribute, rank, node.domain() == kMachineLearning); });
}

std::optional<InferredType> inferred(const proto::TypeProto& type) {
  if (!type.has_tensor_type() || !type.tensor_type().has_shape()) return std::nullopt;
  const auto& tensor = type.tensor_type();
  InferredType result;
  if (tensor.elem_type() > 0 && tensor.elem_type() <= static_cast<int>(ir::DataType::int2))
    result.data_type = static_cast<ir::DataType>(tensor.elem_type());
  for (const auto& dim : tensor.shape().dim())
    result.dims.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? std::optional<ir::Poly>(dim.dim_value()) : std::nullopt);
  return result;
}

// Returns a model with this node alone.
proto::ModelProto model_of(const Document& document, const proto::NodeProto& node, std::int64_t opset, std::span<const Operand> operands) {
  proto::ModelProto model;
  model.set_ir_version(document.model().ir_version);
  auto* import = model.add_opset_import();
  import->set_domain(node.domain());
  import->set_version(opset);
  proto::GraphProto& graph = *model.mutable_graph();
  graph.set_name("node");
  std::unordered_set<std::string_view> known;
  for (const Operand& operand : operands)
    if (!operand.name.empty() && known.insert(operand.name).second) add_operand(graph, operand);
  *graph.add_node() = node;
  for (const std::string& output : node.output())
    if (!output.empty()) graph.add_output()->set_name(output);
  return model;
}

// Returns the domain of an operator if ONNX defines it.
std::optional<std::string> domain_of_schema(const Node& node) {
  if (is_default_domain(node.domain)) return std::string();
  return node.domain == kMachineLearning ? std::optional(std::string(kMachineLearning)) : std::nullopt;
}

const proto::OpSchema* schema_of(const Document& document, const Node& node) {
  const auto domain = domain_of_schema(node);
  const auto version = domain ? document.opset(node.graph, *domain) : std::nullopt;
  if (!version || *version < 1 || *version > std::numeric_limits<int>::max()) return nullptr;
  return proto::OpSchemaRegistry::Schema(std::string(node.op_type), static_cast<int>(*version), *domain);
}

// Reads the node with the current attributes of `node`. Returns false if it cannot be parsed or refers to an
// attribute of a function.
bool read_node(const Node& node, std::span<const ir::ValueId> operands, const ir::Arena& arena, proto::NodeProto& message) {
  if (!message.ParseFromArray(node.payload.data(), static_cast<int>(node.payload.size()))) return false;
  const auto refers = [](const proto::AttributeProto& attribute) { return attribute.has_ref_attr_name(); };
  if (std::ranges::any_of(message.attribute(), refers)) {
    message.clear_attribute();
    for (const Attribute& attribute : node.attributes) {
      proto::AttributeProto& copy = *message.add_attribute();
      if (!copy.ParseFromArray(attribute.payload.data(), static_cast<int>(attribute.payload.size()))) return false;
      copy.set_name(std::string(attribute.name));
    }
    if (std::ranges::any_of(message.attribute(), refers)) return false;
  }
  for (std::size_t k = 0; k < node.inputs.size(); ++k)
    if (arena.is_absent(operands[k])) message.mutable_input(static_cast<int>(k))->clear();
  message.set_domain(*domain_of_schema(node));
  return true;
}

}  // namespace

bool is_default(const Document& document, const Node& node, const Attribute& attribute) {
  const proto::OpSchema* schema = schema_of(document, node);
  if (schema == nullptr) return false;
  const auto known = schema->attributes().find(std::string(attribute.name));
  proto::AttributeProto given;
  if (known == schema->attributes().end() || !known->second.default_value.has_type()) return false;
  if (!given.ParseFromArray(attribute.payload.data(), static_cast<int>(attribute.payload.size()))) return false;
  proto::AttributeProto usual = known->second.default_value;
  for (proto::AttributeProto* message : {&given, &usual}) {
    message->set_name(std::string(attribute.name));
    message->clear_doc_string();
  }
  return given.SerializeAsString() == usual.SerializeAsString();
}

bool NodeInference::has_schema(const Node& node) const { return schema_of(document_, node) != nullptr; }

std::vector<std::optional<InferredType>> NodeInference::infer(const Node& node, std::span<const ir::ValueId> operands,
                                                              const ir::Symbols::Valuation& sizes) {
  if (!node.has_bodies() && !calls_function(document_, node)) return infer_operator(node, operands.first(node.inputs.size()), sizes);
  BodyTypes bodies(document_, arena_, *this, sizes, std::min(kMostNodes, kMostNodesInAll - visited_));
  auto types = bodies.infer(node, operands);
  visited_ = std::min(kMostNodesInAll, visited_ + bodies.visited());
  return types;
}

std::vector<std::optional<InferredType>> NodeInference::infer_operator(const Node& node, std::span<const ir::ValueId> operands,
                                                                       const ir::Symbols::Valuation& sizes) {
  std::vector<std::optional<InferredType>> types(node.outputs.size());
  const proto::OpSchema* schema = node.payload.size() > kMostBytes ? nullptr : schema_of(document_, node);
  proto::NodeProto message;
  if (schema == nullptr || !read_node(node, operands, arena_, message)) return types;
  const std::int64_t version = *document_.opset(node.graph, message.domain());
  const auto size_of = [&](const ir::Poly& poly) {
    return poly.is_constant() ? poly.constant() : sizes ? arena_.symbols().evaluate(poly, sizes) : std::nullopt;
  };
  std::vector<Operand> known;
  known.reserve(node.inputs.size());
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    known.push_back({arena_.is_absent(operands[k]) ? std::string_view() : node.inputs[k], {}, false, {}, {}});
    if (arena_.is_absent(operands[k])) continue;
    const ir::TensorType type = arena_.type(operands[k]);
    known[k].data_type = type.data_type;
    known[k].ranked = type.ranked;
    for (const ir::Poly& dim : type.shape) known[k].dims.push_back(size_of(dim));
    // If the operand is a shape, ONNX creates that many dimensions.
    const bool may_be_shape = known[k].dims.size() == 1 && (ir::is_integer(type.data_type) || k > 0);
    if (may_be_shape && known[k].dims[0] > kMostElements) known[k].dims[0].reset();
    if (known[k].ranked) known[k].elements = elements_of(arena_, contents_, operands[k], known[k].dims, size_of);
  }
  if (!is_as_its_schema_says(*schema, message, known)) return types;
  proto::ModelProto model = model_of(document_, message, version, known);
  try {
    const proto::ShapeInferenceOptions options(/*check_type=*/false, /*strict_mode=*/0, /*data_prop=*/true);
    proto::shape_inference::InferShapes(model, proto::OpSchemaRegistry::Instance(), options);
  } catch (const std::exception&) {
    return types;  // ONNX refused the node
  }
  for (std::size_t k = 0; k < types.size(); ++k)
    for (const proto::ValueInfoProto& output : model.graph().output())
      if (output.name() == node.outputs[k]) types[k] = inferred(output.type());
  return types;
}

}  // namespace xflow::onnx_io
