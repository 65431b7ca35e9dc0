// Files that a subcommand reads itself.
#pragma once

#include <string>

#include "xflow/error.h"

namespace xflow::cli {

// The content of a file. Errors: unreadable.
Result<std::string> read_text(const std::string& path);

}  // namespace xflow::cli
