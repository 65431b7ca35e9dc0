// The manifest of a split model (docs/parts.schema.json).
#pragma once

#include <xflow/error.h>
#include <xflow/split.h>

#include <string>
#include <string_view>

namespace xflow::parallel {

// The name of the manifest in the folder of the parts.
constexpr const char* kManifestName = "manifest.json";

// Reads a manifest and checks that the parts can run in their order and that each tensor comes from a part
// that has it as an output. Errors: unreadable, with the first fault and its line.
Result<PartManifest> read_manifest(std::string_view text, const std::string& where);

}  // namespace xflow::parallel
