// The processes of `mpirun -n N xflow ...` as workers. The MPI code is a library of its own, so that only
// the program links to MPI.
#pragma once

#include <xflow/error.h>
#include <xflow/generate.h>

#include <cstddef>
#include <memory>

namespace xflow::cli {

// The number of processes and the rank, from the environment variables that mpirun of Open MPI and of MPICH
// and its derivatives sets.
struct MpiPlace {
  std::size_t processes = 1;  // 1 if not started by mpirun
  std::size_t process = 0;    // the rank of this process
};
// Reads the environment variables.
MpiPlace mpi_place();

// Joins the processes that mpirun started; there must be several. The first process gets the workers, which
// are the other processes; they end when the returned object is destroyed. In the other processes the call
// does tasks of `work` until the first process has no more, and returns nothing. Call it once per process.
// Errors are returned in the first process only; the other processes return nothing. Error::unsupported if
// this build has no MPI, or another MPI than that mpirun: every process would do the whole job.
Result<std::unique_ptr<GeneratorWorkers>> join_processes(const GeneratorTask& work);

}  // namespace xflow::cli
