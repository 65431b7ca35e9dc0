#include "src/execution/open_manifest.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "src/onnx/document/document.h"
#include "src/parallel/part_manifest.h"
#include "src/support/file.h"

namespace xflow::execution {
namespace {

// The manifest of a whole model: one part.
Result<PartManifest> manifest_of_model(const std::string& path, const std::vector<std::string>& allow_external) {
  constexpr std::int64_t kFirstWithDefaults = 4;
  XFLOW_TRY(const onnx_io::Document document, onnx_io::Document::open(path, allow_external));
  PartManifest manifest;
  manifest.model = path;
  manifest.devices = {"cpu"};
  PartDescription part;
  part.file = path;
  part.nodes = document.main().node_count;
  for (const onnx_io::ValueInfo& input : document.main().inputs) {
    const bool has_default = document.find(document.main().id, input.name)->initializer.has_value();
    if (has_default && document.model().ir_version < kFirstWithDefaults) continue;
    manifest.inputs.emplace_back(input.name);
    part.inputs.push_back({std::string(input.name), std::nullopt, has_default});
  }
  for (const onnx_io::ValueInfo& output : document.main().outputs) {
    part.outputs.emplace_back(output.name);
    manifest.outputs.push_back({std::string(output.name), 0, false});
  }
  manifest.parts.push_back(std::move(part));
  return manifest;
}

}  // namespace

Result<PartManifest> open_manifest(const std::string& path, const std::vector<std::string>& allow_external) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return manifest_of_model(path, allow_external);
  const std::filesystem::path folder(path);
  const std::string file = (folder / parallel::kManifestName).string();
  XFLOW_TRY(const auto bytes, onnx_io::FileBytes::open(file));
  XFLOW_TRY(PartManifest manifest, parallel::read_manifest(bytes->bytes(), file));
  for (PartDescription& part : manifest.parts) part.file = (folder / part.file).string();
  return manifest;
}

}  // namespace xflow::execution
