// The processes of `mpirun -n N xflow run ...` as the processes of a run of parts.
#pragma once

#include <xflow/error.h>
#include <xflow/run.h>
#include <xflow/time.h>

#include <memory>

namespace xflow::cli {

// How long a process may be silent, or compute longer than it should.
constexpr Seconds kPatience{6};

// Joins the processes that mpirun started; there must be several. A watchdog ends all of them with a message
// if one of them is silent or computes a kernel for longer than kPatience. Call it once per process. Errors,
// in every process: unsupported if this build has no MPI, or another MPI than that mpirun.
Result<std::unique_ptr<RunMessages>> join_run();

}  // namespace xflow::cli
