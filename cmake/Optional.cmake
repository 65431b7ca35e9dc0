# Optional components: Z3, oneDNN, MPI, CUDA and Cbc. A component is used if a small program that needs it
# compiles; the name of a header or a library is not enough. XFLOW_Z3, XFLOW_ONEDNN, XFLOW_MPI, XFLOW_CUDA
# and XFLOW_CBC are ON (its absence is an error), OFF (it is not looked for) or AUTO.

# xflow_compiles(RESULT NAME SOURCE [LIBRARIES target...] [INCLUDES folder...]): sets RESULT to the empty text
# if SOURCE compiles, and links with LIBRARIES if there are some; otherwise to what is wrong. A success is
# remembered as long as libraries and folders stay as they are.
function(xflow_compiles result name source)
  cmake_parse_arguments(PARSE_ARGV 3 check "" "" "LIBRARIES;INCLUDES")
  set(folder ${PROJECT_BINARY_DIR}/optional)
  set(files ${check_INCLUDES})
  foreach(library IN LISTS check_LIBRARIES)
    get_target_property(location ${library} IMPORTED_LOCATION)
    get_target_property(includes ${library} INTERFACE_INCLUDE_DIRECTORIES)
    list(APPEND files ${location} ${includes})
  endforeach()
  set(key "${source}")
  foreach(file IN LISTS files)
    file(TIMESTAMP ${file} time)
    string(APPEND key ";${file};${time}")
  endforeach()
  string(SHA256 key "${key}")
  if("${XFLOW_${name}_COMPILES}" STREQUAL "${key}")
    set(${result} "" PARENT_SCOPE)
    return()
  endif()
  if(NOT check_LIBRARIES)
    set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
  endif()
  file(WRITE ${folder}/${name}.cpp "${source}")
  try_compile(
    works ${folder}/${name} SOURCES ${folder}/${name}.cpp
    CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${check_INCLUDES}"
    LINK_LIBRARIES ${check_LIBRARIES}
    OUTPUT_VARIABLE output CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON)
  set(done ${works})
  unset(works CACHE)
  if(done)
    set(XFLOW_${name}_COMPILES ${key} CACHE INTERNAL "the test program of ${name} that compiled")
    set(${result} "" PARENT_SCOPE)
  else()
    unset(XFLOW_${name}_COMPILES CACHE)
    file(WRITE ${folder}/${name}.log "${output}")
    set(${result} "a test program does not compile (${folder}/${name}.log)" PARENT_SCOPE)
  endif()
endfunction()

# xflow_decide(NAME LABEL MISSING ADVICE): sets XFLOW_HAS_NAME for a component that is not switched off.
# MISSING says what it lacks, or is empty; ADVICE says what to do about that.
function(xflow_decide name label missing advice)
  if(XFLOW_${name} AND missing AND NOT XFLOW_${name} STREQUAL "AUTO")
    message(FATAL_ERROR "XFLOW_${name} is ${XFLOW_${name}}, but ${missing}: ${advice}, or configure with -DXFLOW_${name}=OFF")
  endif()
  if(NOT XFLOW_${name})
    set(missing "XFLOW_${name} is OFF")
  endif()
  if(missing)
    message(STATUS "xflow: ${label}: no (${missing})")
    set(XFLOW_HAS_${name} OFF PARENT_SCOPE)
  else()
    message(STATUS "xflow: ${label}: yes")
    set(XFLOW_HAS_${name} ON PARENT_SCOPE)
  endif()
endfunction()

# Z3, in FindZ3.cmake.
set(missing "")
if(XFLOW_Z3)
  find_package(Z3 5 QUIET)
  if(Z3_FOUND)
    xflow_compiles(missing Z3 [[
#include <z3++.h>
int main() {
  z3::context context;
  z3::solver solver(context);
  solver.add(context.int_const("x") > 0);
  return solver.check() == z3::sat ? 0 : 1;
}
]] LIBRARIES Z3::Z3)
  else()
    set(missing "${Z3_MISSING}")
  endif()
endif()
xflow_decide(Z3 Z3 "${missing}" "run scripts/deps")

# oneDNN's own package asks for OpenCL, which xflow does not use. Its version 3 has no operation descriptors,
# which the test program needs.
set(missing "")
if(XFLOW_ONEDNN)
  xflow_find_library(DNNL::dnnl oneapi/dnnl/dnnl.hpp dnnl missing)
  if(NOT missing)
    xflow_compiles(missing ONEDNN [[
#include <oneapi/dnnl/dnnl.hpp>
int main() {
  using dnnl::memory;
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const memory::desc square({2, 2}, memory::data_type::f32, memory::format_tag::ab);
  const dnnl::matmul::primitive_desc product({square, square, square}, engine);
  return product.impl_info_str() == nullptr;
}
]] LIBRARIES DNNL::dnnl)
  endif()
endif()
xflow_decide(ONEDNN oneDNN "${missing}" "install libdnnl-dev 2.6, or set CMAKE_PREFIX_PATH")
