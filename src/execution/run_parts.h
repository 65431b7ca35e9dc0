// Runs a split model. See <xflow/run.h>.
#pragma once

#include <xflow/run.h>

#include <string>

namespace xflow::execution {

// Implements xflow::run_parts.
Result<RunResult> run_parts(const std::string& path, const RunOptions& options);

}  // namespace xflow::execution
