#include "src/api/plan_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "src/api/output_folder.h"
#include "src/onnx/document/document_writer.h"
#include "src/onnx/document/new_model.h"
#include "src/parallel/kept_document.h"
#include "src/parallel/part_manifest.h"
#include "src/parallel/plan_parts.h"
#include "src/support/file.h"

namespace xflow::api {
namespace {

parallel::ModelInterface interface_of(const PlannedParts& planned) {
  const onnx_io::LiftedModel& lifted = planned.model.lifted();
  parallel::ModelInterface interface;
  for (std::size_t k = 0; k < lifted.inputs.size(); ++k) interface.inputs.emplace(lifted.inputs[k], lifted.input_names[k]);
  for (std::size_t k = 0; k < lifted.output_count; ++k) interface.outputs.emplace_back(lifted.output_names[k], lifted.graph.outputs[k]);
  interface.kept = parallel::kept_operators(planned.model.document(), lifted, planned.split, planned.tasks, planned.model.known_sizes());
  interface.prefix = parallel::unused_prefix(planned.model.document());
  return interface;
}

PartManifest manifest_of(const onnx_io::LiftedModel& lifted, const parallel::PlanParts& parts, const parallel::DeviceCluster& cluster) {
  PartManifest manifest;
  manifest.cluster = cluster.name;
  std::vector<std::size_t> positions(cluster.size());
  for (std::uint32_t device = 0; device < cluster.size(); ++device) {
    positions[device] = manifest.devices.size();
    const auto is_used = [&](const parallel::PlanPart& part) { return part.device == device; };
    if (std::ranges::any_of(parts.parts, is_used)) manifest.devices.push_back(cluster.devices[device].name);
  }
  for (const parallel::PlanPart& part : parts.parts) {
    PartDescription description;
    description.device = positions[part.device];
    description.file = fmt::format("part-{}.onnx", manifest.parts.size());
    for (const parallel::PartInput& input : part.inputs) description.inputs.push_back({input.name, input.part, false});
    description.outputs = part.outputs;
    manifest.parts.push_back(std::move(description));
  }
  for (const std::string_view input : lifted.input_names) manifest.inputs.emplace_back(input);
  for (const parallel::PartInput& output : parts.outputs) manifest.outputs.push_back({output.name, output.part, false});
  return manifest;
}

Result<onnx_io::Document> document_of(const PlannedParts& planned, const parallel::PlanPart& part) {
  const onnx_io::Document& document = planned.model.document();
  const onnx_io::LiftedModel& lifted = planned.model.lifted();
  if (!part.kept.empty()) {
    XFLOW_TRY(std::string bytes, parallel::kept_document(document, lifted, planned.model.arena(), part));
    return onnx_io::Document::parse(std::move(bytes), document.origin());
  }
  std::vector<ir::ValueId> inputs;
  onnx_io::NewModelNames names;
  for (const parallel::PartInput& input : part.inputs) {
    inputs.push_back(input.value);
    names.inputs.push_back(input.name);
  }
  names.outputs = part.outputs;
  names.has_open_sizes = true;
  XFLOW_TRY(std::string bytes, onnx_io::new_model(planned.model.arena(), part.graph, inputs, lifted.opset, &names));
  return onnx_io::Document::parse(std::move(bytes));
}

}  // namespace

Result<PartManifest> write_plan_folder(const PlannedParts& planned, const parallel::DeviceCluster& cluster, const std::string& folder,
                                       const std::string& origin) {
  const onnx_io::LiftedModel& lifted = planned.model.lifted();
  const parallel::ModelInterface interface = interface_of(planned);
  XFLOW_TRY(const parallel::PlanParts parts, parallel::parts_of(planned.split, planned.plan, interface));
  PartManifest manifest = manifest_of(lifted, parts, cluster);
  manifest.model = planned.path;
  manifest.plan = origin;
  std::vector<onnx_io::Document> documents;
  for (std::size_t k = 0; k < parts.parts.size(); ++k) {
    XFLOW_TRY(onnx_io::Document document, document_of(planned, parts.parts[k]));
    manifest.parts[k].nodes = document.main().node_count;
    documents.push_back(std::move(document));
  }
  XFLOW_CHECK(prepare_folder(folder));
  const std::filesystem::path place(folder);
  for (std::size_t k = 0; k < documents.size(); ++k) {
    onnx_io::SaveOptions save;
    if (!documents[k].external_files().empty()) save.external_name = fmt::format("part-{}.data", k);
    XFLOW_CHECK(onnx_io::write_document(documents[k], {}, (place / manifest.parts[k].file).string(), save));
  }
  const std::string text = manifest.to_json();
  const std::string_view chunk = text;
  XFLOW_CHECK(onnx_io::write_file((place / parallel::kManifestName).string(), {&chunk, 1}));
  return manifest;
}

}  // namespace xflow::api
