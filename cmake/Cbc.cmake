# libxflow_cbc.so, the solver of mixed integer programs for `xflow place`: loaded when a placement needs it
# (src/parallel/integer_solver.h), so that xflow itself is not linked to Cbc.
set(missing "")
if(XFLOW_CBC)
  set(cbc_libraries "")
  foreach(library Cbc Cgl OsiClp Clp Osi CoinUtils)
    if(NOT missing)
      xflow_find_library(COIN::${library} coin/CbcModel.hpp ${library} missing)
      list(APPEND cbc_libraries COIN::${library})
    endif()
  endforeach()
  if(NOT missing)
    xflow_compiles(missing CBC [[
#include <coin/CbcModel.hpp>
#include <coin/OsiClpSolverInterface.hpp>
int main() {
  OsiClpSolverInterface solver;
  CbcModel model(solver);
  model.branchAndBound();
  return model.status();
}
]] LIBRARIES ${cbc_libraries})
  endif()
endif()
xflow_decide(CBC Cbc "${missing}" "install coinor-libcbc-dev, or set CMAKE_PREFIX_PATH")
if(XFLOW_HAS_CBC)
  xflow_sources(cbc_sources parallel/cbc)
  add_library(xflow_cbc MODULE ${cbc_sources})
  target_link_libraries(xflow_cbc PRIVATE xflow_compiler fmt::fmt ${cbc_libraries})
  target_precompile_headers(xflow_cbc REUSE_FROM xflow_pch)
  set_target_properties(xflow_cbc PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  if(TARGET xflow)
    add_dependencies(xflow xflow_cbc) # whoever builds the program has its solver
  endif()
  install(TARGETS xflow_cbc LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/xflow)
endif()
