#include "xflow/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "src/api/output_folder.h"
#include "src/api/split_configured.h"
#include "src/onnx/document/document_writer.h"
#include "src/onnx/document/fixed_inputs.h"
#include "src/onnx/lift/lift.h"
#include "src/parallel/cluster.h"
#include "src/parallel/device_plan.h"
#include "src/parallel/model_parts.h"
#include "src/parallel/part_document.h"
#include "src/parallel/part_manifest.h"
#include "src/support/exceptions.h"
#include "src/support/file.h"

namespace xflow {
namespace {

using onnx_io::Document;

constexpr std::int64_t kFirstWithDefaults = 4;  // IR version; before it, an input with a value is a constant

PartTensor tensor_of(const Document& document, const parallel::CutTensor& tensor) {
  PartTensor described{std::string(tensor.name), std::nullopt, false};
  if (tensor.part) {
    described.part = *tensor.part;
  } else {
    const onnx_io::Definition* definition = document.find(document.main().id, tensor.name);
    described.has_default = definition != nullptr && (definition->initializer || definition->sparse_initializer);
  }
  return described;
}

// Whether the input is one that a caller may give.
bool is_given(const Document& document, const PartTensor& tensor) {
  return tensor.part || !tensor.has_default || document.model().ir_version >= kFirstWithDefaults;
}

PartManifest manifest_of(const Document& document, const parallel::ModelParts& parts, const parallel::DeviceCluster& cluster) {
  PartManifest manifest;
  manifest.cluster = cluster.name;
  std::vector<std::size_t> positions(cluster.size());
  for (std::uint32_t device = 0; device < cluster.size(); ++device) {
    positions[device] = manifest.devices.size();
    const auto is_used = [&](const parallel::ModelPart& part) { return part.device == device; };
    if (std::ranges::any_of(parts.parts, is_used)) manifest.devices.push_back(cluster.devices[device].name);
  }
  for (const parallel::ModelPart& part : parts.parts) {
    PartDescription description;
    description.device = positions[part.device];
    description.file = fmt::format("part-{}.onnx", manifest.parts.size());
    description.nodes = part.nodes.size();
    for (const parallel::CutTensor& input : part.inputs) {
      PartTensor tensor = tensor_of(document, input);
      if (is_given(document, tensor)) description.inputs.push_back(std::move(tensor));
    }
    description.outputs.assign(part.outputs.begin(), part.outputs.end());
    manifest.parts.push_back(std::move(description));
  }
  for (const onnx_io::ValueInfo& input : document.main().inputs) {
    const PartTensor tensor = tensor_of(document, {input.name, std::nullopt});
    if (is_given(document, tensor)) manifest.inputs.emplace_back(input.name);
  }
  for (const parallel::CutTensor& output : parts.outputs) manifest.outputs.push_back(tensor_of(document, output));
  manifest.left_out = parts.left_out;
  manifest.copied = parts.copied;
  return manifest;
}

Result<void> write_parts(const Document& document, const std::vector<std::string>& bytes, const PartManifest& manifest,
                         const std::string& folder) {
  const std::filesystem::path place(folder);
  for (std::size_t k = 0; k < bytes.size(); ++k) {
    // The files of external data are found from the folder of the model, and each part gets one of its own.
    XFLOW_TRY(const Document part, Document::parse(bytes[k], document.origin()));
    onnx_io::SaveOptions save;
    if (!part.external_files().empty()) save.external_name = fmt::format("part-{}.data", k);
    XFLOW_CHECK(onnx_io::write_document(part, {}, (place / manifest.parts[k].file).string(), save));
  }
  const std::string text = manifest.to_json();
  const std::string_view chunk = text;
  return onnx_io::write_file((place / parallel::kManifestName).string(), {&chunk, 1});
}

Result<PartManifest> split_file(const std::string& path, const std::string& folder, const SplitOptions& options) {
  if (!options.plan.empty() && options.cluster.empty()) return fail(ErrorCode::invalid_argument, "a plan needs the cluster of its devices");
  parallel::DeviceCluster cluster;
  if (!options.plan.empty()) {
    XFLOW_TRY(cluster, parallel::open_cluster(options.cluster));
  }
  XFLOW_TRY(Document document, Document::open(path, options.allow_external));
  if (document.model().training_infos > 0)
    return fail(ErrorCode::unsupported, "the model has training graphs, which read values of several parts", path);
  if (document.main().node_count == 0) return fail(ErrorCode::unsupported, "the model has no nodes to split", path);
  XFLOW_CHECK(onnx_io::fix_inputs(document, options.shapes));
  std::vector<std::optional<std::uint32_t>> devices;
  std::string plan = options.plan;
  if (options.plan.empty()) {
    XFLOW_TRY(cluster, api::configured_cluster(document, options.cluster));
    XFLOW_TRY(auto configured, api::configured_devices(document, cluster));
    if (!configured.devices) return api::split_configured(path, folder, options, cluster);
    devices = *std::move(configured.devices);
    plan = std::move(configured.origin);
  } else {
    XFLOW_TRY(const auto file, onnx_io::FileBytes::open(options.plan));
    std::vector<std::string_view> names;
    for (const onnx_io::Node& node : document.nodes(document.main().id)) names.push_back(node.name);
    XFLOW_TRY(devices, parallel::read_plan(file->bytes(), options.plan, names, cluster));
  }

  ir::Arena arena;
  XFLOW_TRY(const onnx_io::LiftedModel lifted, onnx_io::lift(document, arena, {.infer = true}));
  XFLOW_TRY(const parallel::KnownIntegers known, parallel::known_integers(document, lifted, arena));
  const parallel::ModelParts parts = parallel::divide(document, devices, known);
  if (parts.parts.empty()) return fail(ErrorCode::unsupported, "no node of the model is needed for an output", path);
  const parallel::PartWriter writer(document, lifted, arena, known);
  std::vector<std::string> bytes;
  for (std::size_t k = 0; k < parts.parts.size(); ++k) {
    auto part = writer.write(parts.parts[k], k);
    if (!part) return fail(part.error().code, part.error().message, path);
    bytes.push_back(*std::move(part));
  }
  PartManifest manifest = manifest_of(document, parts, cluster);
  manifest.model = path;
  manifest.plan = std::move(plan);
  XFLOW_CHECK(api::prepare_folder(folder));
  XFLOW_CHECK(write_parts(document, bytes, manifest, folder));
  return manifest;
}

}  // namespace

Result<PartManifest> split(const std::string& model, const std::string& folder, const SplitOptions& options) {
  return api::guarded<PartManifest>([&] { return split_file(model, folder, options); });
}

}  // namespace xflow
