# xflow_mpi: the processes of mpirun as workers of the generator (src/cli/processes). It is a
# library of its own beside the module, so that the program is linked to MPI and libxflow.so is not.
set(missing "")
if(XFLOW_MPI)
  # MPI is found for the languages of the project alone; in C++ it comes with bindings that are no longer in
  # use.
  include(CheckLanguage)
  check_language(C)
  # FindMPI stops the configuration where a compiler of MPI names folders of headers that do not exist, as
  # Debian's does without libopenmpi-dev.
  find_program(MPI_C_COMPILER mpicc HINTS ENV MPI_HOME PATH_SUFFIXES bin)
  set(mpi_failure "")
  if(MPI_C_COMPILER)
    file(WRITE ${PROJECT_BINARY_DIR}/optional/MPI.c "#include <mpi.h>\n")
    execute_process(COMMAND ${MPI_C_COMPILER} -E ${PROJECT_BINARY_DIR}/optional/MPI.c RESULT_VARIABLE mpi_failure OUTPUT_QUIET ERROR_QUIET)
  endif()
  if(NOT CMAKE_C_COMPILER)
    set(missing "there is no C compiler, which finds MPI")
  elseif(mpi_failure)
    set(missing "mpi.h was not found by ${MPI_C_COMPILER}")
  else()
    enable_language(C)
    find_package(MPI QUIET COMPONENTS C)
    # It compiles a program, and creates the target MPI::MPI_C before it does.
    if(NOT MPI_C_FOUND AND NOT MPI_C_HEADER_DIR)
      set(missing "mpi.h was not found")
    elseif(NOT MPI_C_FOUND)
      set(missing "mpi.h was found, and no library that a test program can be linked to")
    endif()
  endif()
endif()
xflow_decide(MPI MPI "${missing}" "install libopenmpi-dev, or set MPI_C_COMPILER")
set(mpi_folder no_mpi)
if(XFLOW_HAS_MPI)
  set(mpi_folder mpi)
endif()
file(GLOB mpi_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cli/processes/*.cpp
     ${PROJECT_SOURCE_DIR}/src/cli/processes/${mpi_folder}/*.cpp)
add_library(xflow_mpi STATIC ${mpi_sources})
target_link_libraries(xflow_mpi PUBLIC xflow_api)
if(XFLOW_HAS_MPI)
  target_link_libraries(xflow_mpi PRIVATE MPI::MPI_C)
  target_compile_definitions(xflow_mpi PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
endif()
