// Folders that a call fills.
#pragma once

#include <xflow/error.h>

#include <string>

namespace xflow::api {

// Makes the folder. Errors: io, also for a folder with files, which could be mistaken for what is written.
Result<void> prepare_folder(const std::string& folder);

}  // namespace xflow::api
