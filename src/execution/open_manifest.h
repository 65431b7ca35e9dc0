// The manifest of what is to be run: a folder of parts, or a whole model as one part.
#pragma once

#include <xflow/error.h>
#include <xflow/split.h>

#include <string>
#include <vector>

namespace xflow::execution {

// The files of the parts are paths. Errors: those of reading; unreadable, as parallel::read_manifest.
Result<PartManifest> open_manifest(const std::string& path, const std::vector<std::string>& allow_external);

}  // namespace xflow::execution
