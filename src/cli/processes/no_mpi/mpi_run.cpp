#include <fmt/format.h>

#include "src/cli/processes/mpi_workers.h"
#include "src/cli/processes/run_processes.h"

namespace xflow::cli {

Result<std::unique_ptr<RunMessages>> join_run() {
  return fail(
      ErrorCode::unsupported,
      fmt::format(
          "mpirun started {} processes, but xflow was built without MPI; start one process, or install libopenmpi-dev and rebuild xflow",
          mpi_place().processes));
}

}  // namespace xflow::cli
