#include "src/cli/processes/mpi_workers.h"

#include <fmt/format.h>

namespace xflow::cli {

Result<std::unique_ptr<GeneratorWorkers>> join_processes(const GeneratorTask& /*work*/) {
  const MpiPlace place = mpi_place();
  if (place.process != 0) return std::unique_ptr<GeneratorWorkers>();
  return fail(ErrorCode::unsupported, fmt::format("started as {} processes, but built without MPI, so that each would do the whole job; "
                                                  "start it alone, or install libopenmpi-dev and build it again",
                                                  place.processes));
}

}  // namespace xflow::cli
