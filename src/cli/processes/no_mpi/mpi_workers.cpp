#include "src/cli/processes/mpi_workers.h"

#include <fmt/format.h>

namespace xflow::cli {

Result<std::unique_ptr<GeneratorWorkers>> join_processes(const GeneratorTask& /*work*/) {
  const MpiPlace place = mpi_place();
  if (place.process != 0) return std::unique_ptr<GeneratorWorkers>();
  return fail(
      ErrorCode::unsupported,
      fmt::format(
          "mpirun started {} processes, but xflow was built without MPI; start one process, or install libopenmpi-dev and rebuild xflow",
          place.processes));
}

}  // namespace xflow::cli
