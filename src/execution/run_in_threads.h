// Runs a split model in one process with a thread for each device.
#pragma once

#include <xflow/run.h>

#include <string>

namespace xflow::execution {

// As run_parts of the parts in a folder with a process for each of their devices; `options.messages` is not
// used. Tensors are copied from thread to thread. Waiting threads ask again and again, as processes of MPI
// do. Errors: those of run_parts.
Result<RunResult> run_in_threads(const std::string& folder, const RunOptions& options);

}  // namespace xflow::execution
