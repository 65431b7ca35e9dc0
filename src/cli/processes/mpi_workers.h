// The processes of `mpirun -n N xflow ...` as workers. What needs MPI is a library of its own, so that only the program is linked to it.
#pragma once

#include <xflow/error.h>
#include <xflow/generate.h>

#include <cstddef>
#include <memory>

namespace xflow::cli {

// What the environment says: mpirun of Open MPI, and of MPICH and its kin, tells every process how many it started.
struct MpiPlace {
  std::size_t processes = 1;  // 1 as well where this process was started without it
  std::size_t process = 0;    // which of them this is
};
MpiPlace mpi_place();

// Joins the processes that mpirun started, of which there are several. In the first: the workers, which work in the others; these end with
// the object. In the others: does pieces of `work` until the first has no more, and returns nothing. Once in a process.
// Errors, of the first process alone, and the others return nothing: unsupported where this build has no MPI, or not the one of that
// mpirun, as every process would do the whole job.
Result<std::unique_ptr<GeneratorWorkers>> join_processes(const GeneratorTask& work);

}  // namespace xflow::cli
