#include "src/parallel/part_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "src/eval/evaluate.h"
#include "src/onnx/document/document_builder.h"
#include "src/onnx/document/fields.h"
#include "src/onnx/document/wire.h"
#include "src/support/printable.h"

namespace xflow::parallel {
namespace {

using onnx_io::DeclaredType;
using onnx_io::Definition;
using onnx_io::ValueInfo;
using onnx_io::WireField;
using onnx_io::WireReader;
using onnx_io::WireWriter;
namespace graph_fields = onnx_io::graph_fields;
namespace model_fields = onnx_io::model_fields;

// The fields of a graph that are lists of a part.
bool is_list(const WireField& field) {
  for (const std::uint32_t number : {graph_fields::kNode, graph_fields::kInitializer, graph_fields::kInput, graph_fields::kOutput,
                                     graph_fields::kValueInfo, graph_fields::kQuantization, graph_fields::kSparseInitializer}) {
    if (field.is_bytes(number)) return true;
  }
  return false;
}

// Declared dimensions that are better than unknown ones.
std::vector<onnx_io::Dimension> dims_of(const ir::TensorType& type, const ValueInfo* declared) {
  std::vector<onnx_io::Dimension> dims(type.rank());
  for (std::size_t k = 0; k < dims.size(); ++k) {
    if (const auto size = type.shape[k].constant()) {
      dims[k].kind = onnx_io::Dimension::Kind::value;
      dims[k].value = *size;
    } else if (declared != nullptr && declared->type.ranked && declared->type.dims.size() == dims.size()) {
      dims[k] = declared->type.dims[k];
      if (dims[k].kind == onnx_io::Dimension::Kind::value && dims[k].value < 0) dims[k] = {};
    }
  }
  return dims;
}

}  // namespace

Result<KnownIntegers> known_integers(const onnx_io::Document& document, const onnx_io::LiftedModel& lifted, ir::Arena& arena) {
  KnownIntegers known;
  for (const onnx_io::Node& node : document.nodes(document.main().id)) {
    for (const std::string_view name : node.outputs) {
      const auto value = lifted.values.find(name);
      if (name.empty() || value == lifted.values.end() || !arena.is_constant(value->second)) continue;
      const ir::TensorType& type = arena.type(value->second);
      const auto dims = type.ranked ? ir::constant_shape(type.shape) : std::nullopt;
      if (!dims || (!ir::is_integer(type.data_type) && type.data_type != ir::DataType::boolean)) continue;
      const ir::Constant shape{type.data_type, *dims, nullptr};
      if (!shape.is_small()) continue;
      XFLOW_TRY(ir::Constant constant, eval::fold(arena, value->second));
      known.emplace(name, std::move(constant));
    }
  }
  return known;
}

Result<std::string> PartWriter::info_of(std::string_view name, std::size_t number) const {
  const onnx_io::Graph& graph = document_.main();
  const ValueInfo* declared = find_info(graph.value_infos, name);
  if (declared == nullptr) declared = find_info(graph.outputs, name);
  if (const auto value = lifted_.values.find(name); value != lifted_.values.end()) {
    const ir::TensorType& type = arena_.type(value->second);
    if (type.data_type != ir::DataType::undefined && type.ranked)
      return onnx_io::value_info_message(name, type.data_type, dims_of(type, declared));
  }
  if (declared != nullptr) {
    const DeclaredType& type = declared->type;
    const bool is_tensor = type.kind == DeclaredType::Kind::tensor || type.kind == DeclaredType::Kind::sparse_tensor;
    if (type.kind != DeclaredType::Kind::missing && (!is_tensor || type.ranked)) return std::string(declared->payload);
  }
  return fail(ErrorCode::unsupported,
              fmt::format("the type of tensor '{}', which passes between part {} and another, is unknown; give sizes of inputs with option "
                          "'shapes', declare it in value_info, or place the nodes that compute and read it on one device",
                          onnx_io::printable(name), number));
}

Result<std::string> PartWriter::graph_of(const ModelPart& part, std::size_t number) const {
  const onnx_io::Graph& graph = document_.main();
  WireWriter out;
  for (const std::string_view bytes : graph.pieces) {
    WireReader reader(bytes);
    for (WireField field; reader.next(field);) {
      if (!is_list(field)) out.raw(field.whole);
    }
  }
  std::unordered_set<std::string_view> inside;
  for (const onnx_io::NodeId id : part.nodes) {
    out.raw(document_.node(id).field);
    for (const std::string_view name : document_.node(id).outputs) inside.insert(name);
  }
  std::vector<std::string_view> initializers = part.initializers;
  for (const CutTensor& input : part.inputs) {
    if (input.part) {
      XFLOW_TRY(const std::string info, info_of(input.name, number));
      out.bytes(graph_fields::kInput, info);
      continue;
    }
    const Definition& definition = *document_.find(graph.id, input.name);
    out.raw(graph.inputs[*definition.input].field);
    if (definition.initializer || definition.sparse_initializer) initializers.push_back(input.name);
  }
  for (const std::string_view name : part.outputs) {
    const ValueInfo* declared = find_info(graph.outputs, name);
    if (declared != nullptr) {
      out.raw(declared->field);
      continue;
    }
    XFLOW_TRY(const std::string info, info_of(name, number));
    out.bytes(graph_fields::kOutput, info);
  }
  // The parameters of a quantised tensor go with it.
  for (const onnx_io::QuantizationAnnotation& annotation : graph.quantization_annotations) {
    if (!inside.contains(annotation.tensor_name) && std::ranges::find(initializers, annotation.tensor_name) == initializers.end()) continue;
    const auto is_here = [&](const auto& parameter) {
      const Definition* definition = document_.find(graph.id, parameter.second);
      return inside.contains(parameter.second) || (definition != nullptr && (definition->initializer || definition->sparse_initializer));
    };
    if (!std::ranges::all_of(annotation.parameters, is_here)) continue;
    for (const auto& [key, name] : annotation.parameters) {
      if (!inside.contains(name) && std::ranges::find(initializers, name) == initializers.end()) initializers.push_back(name);
    }
    out.raw(annotation.field);
  }
  for (const std::string_view name : initializers) {
    const Definition& definition = *document_.find(graph.id, name);
    out.raw(definition.initializer ? graph.initializers[*definition.initializer].field
                                   : graph.sparse_initializers[*definition.sparse_initializer].field);
  }
  for (const std::string_view name : part.known) {
    const ir::Constant& constant = known_.at(name);
    XFLOW_TRY(const auto bytes, constant.source->bytes());
    const std::string_view raw(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    out.bytes(graph_fields::kInitializer, onnx_io::tensor_message(name, constant.data_type, constant.dims, raw));
  }
  for (const ValueInfo& info : graph.value_infos) {
    const bool is_output = std::ranges::find(part.outputs, info.name) != part.outputs.end();
    if (inside.contains(info.name) && !is_output) out.raw(info.field);
  }
  return out.take();
}

Result<std::string> PartWriter::write(const ModelPart& part, std::size_t number) const {
  XFLOW_TRY(const std::string graph, graph_of(part, number));
  WireWriter out;
  WireReader reader(document_.bytes());
  bool is_written = false;
  for (WireField field; reader.next(field);) {
    if (!field.is_bytes(model_fields::kGraph)) {
      out.raw(field.whole);
    } else if (!is_written) {
      out.bytes(model_fields::kGraph, graph);
      is_written = true;
    }
  }
  return out.take();
}

}  // namespace xflow::parallel
