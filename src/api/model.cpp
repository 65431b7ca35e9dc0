#include "xflow/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "src/onnx/document/document.h"
#include "src/onnx/lift/lift.h"
#include "src/support/exceptions.h"

namespace xflow {
namespace {

std::uint64_t constant_bytes(const onnx_io::Graph& graph) {
  std::uint64_t bytes = 0;
  for (const onnx_io::Initializer& initializer : graph.initializers)
    bytes += ir::storage_bytes(initializer.tensor.data_type, initializer.tensor.elements().value_or(0));
  return bytes;
}

Result<ModelInfo> inspect(const std::string& path, const std::vector<std::string>& allow_external) {
  XFLOW_TRY(const onnx_io::Document document, onnx_io::Document::open(path, allow_external));
  const onnx_io::Model& model = document.model();
  const onnx_io::Graph& main = document.main();
  ModelInfo info;
  info.ir_version = model.ir_version;
  for (const onnx_io::OperatorSet& opset : model.opsets)
    info.operator_sets.push_back({std::string(onnx_io::is_default_domain(opset.domain) ? "ai.onnx" : opset.domain), opset.version});
  if (!model.producer_name.empty()) info.producer = fmt::format("{} {}", model.producer_name, model.producer_version);
  info.graph = main.name;
  info.nodes = main.node_count;
  info.graphs = document.graphs().size();
  for (const onnx_io::ValueInfo& input : main.inputs) info.inputs.push_back({std::string(input.name), input.type.text()});
  for (const onnx_io::ValueInfo& output : main.outputs) info.outputs.push_back({std::string(output.name), output.type.text()});
  info.initializers = main.initializers.size();
  info.constant_bytes = constant_bytes(main);
  for (const onnx_io::ExternalFile& file : document.external_files()) info.external_files.emplace_back(file.location);
  for (const auto& [key, value] : model.metadata) info.metadata.emplace_back(key, value);
  const auto counts = document.operator_counts();
  info.operators.assign(counts.begin(), counts.end());
  std::ranges::stable_sort(info.operators, [](const auto& a, const auto& b) { return a.second > b.second; });
  ir::Arena arena;
  XFLOW_TRY(const onnx_io::LiftedModel lifted, onnx_io::lift(document, arena));
  std::map<std::string, std::size_t> reasons;
  for (const onnx_io::OpaqueNode& opaque : lifted.opaque)
    ++reasons[fmt::format("{}: {}", document.node(opaque.node).op_type, opaque.reason)];
  info.opaque.assign(reasons.begin(), reasons.end());
  return info;
}

}  // namespace

Result<ModelInfo> inspect_model(const std::string& path, const std::vector<std::string>& allow_external) {
  return api::guarded<ModelInfo>([&] { return inspect(path, allow_external); });
}

}  // namespace xflow
