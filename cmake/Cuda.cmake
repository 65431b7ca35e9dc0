# libxflow_cuda.so, the device for GPUs: loaded when it is asked for (src/devices/device_plugin.h). It needs the
# headers of CUDA 13, cuDNN 9 and cuDNN's frontend to be built; the libraries are found by name while it runs.

# Sets `missing` to what is wrong if the major version MACRO / DIVISOR of one of the files is not WANTED.
function(xflow_cuda_version label macro divisor wanted)
  foreach(header IN LISTS ARGN)
    file(STRINGS ${header} line REGEX "^#define ${macro} +[0-9]+")
    if(line MATCHES "([0-9]+) *$")
      math(EXPR major "${CMAKE_MATCH_1} / ${divisor}")
      if(NOT major EQUAL wanted)
        set(missing "${header} is of ${label} ${major}, and ${wanted} is needed" PARENT_SCOPE)
      endif()
    endif()
  endforeach()
endfunction()

set(missing "")
if(XFLOW_CUDA)
  # A folder that was found before may have been removed.
  foreach(place CUDA_INCLUDE_DIR/cuda.h CUDNN_INCLUDE_DIR/cudnn_version.h CUDNN_FRONTEND_INCLUDE_DIR/cudnn_frontend.h)
    cmake_path(GET place PARENT_PATH variable)
    cmake_path(GET place FILENAME header)
    if(NOT EXISTS "${${variable}}/${header}")
      unset(${variable} CACHE)
    endif()
  endforeach()
  find_package(CUDAToolkit QUIET) # says where to look; libraries are not needed
  find_path(CUDA_INCLUDE_DIR cuda.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES include)
  find_path(CUDNN_INCLUDE_DIR cudnn_version.h HINTS ${CUDA_INCLUDE_DIR})
  find_path(CUDNN_FRONTEND_INCLUDE_DIR cudnn_frontend.h HINTS ${XFLOW_DEPS_DIR}/prefix/cudnn_frontend/include)
  mark_as_advanced(CUDA_INCLUDE_DIR CUDNN_INCLUDE_DIR CUDNN_FRONTEND_INCLUDE_DIR)
  set(advice "install CUDA 13, or set CUDA_INCLUDE_DIR")
  if(NOT CUDA_INCLUDE_DIR)
    set(missing "cuda.h was not found")
  else()
    xflow_cuda_version(CUDA CUDA_VERSION 1000 13 ${CUDA_INCLUDE_DIR}/cuda.h)
  endif()
  if(NOT missing)
    set(advice "install cuDNN 9, or set CUDNN_INCLUDE_DIR")
    if(NOT CUDNN_INCLUDE_DIR)
      set(missing "cudnn_version.h was not found")
    else()
      file(GLOB cudnn_headers ${CUDNN_INCLUDE_DIR}/cudnn_version*.h)
      xflow_cuda_version(cuDNN CUDNN_MAJOR 1 9 ${cudnn_headers})
    endif()
  endif()
  if(NOT missing)
    set(advice "run scripts/deps, or set CUDNN_FRONTEND_INCLUDE_DIR")
    if(NOT CUDNN_FRONTEND_INCLUDE_DIR)
      set(missing "cudnn_frontend.h was not found")
    else()
      # The frontend itself takes some ten seconds to compile.
      xflow_compiles(missing CUDA [[
#include <cublasLt.h>
#include <cuda.h>
#include <cudnn.h>
#include <cudnn_frontend_version.h>
#include <nvrtc.h>
cublasLtHandle_t products;
CUdevice device;
cudnnHandle_t graphs;
nvrtcProgram program;
]] INCLUDES ${CUDA_INCLUDE_DIR} ${CUDNN_INCLUDE_DIR} ${CUDNN_FRONTEND_INCLUDE_DIR})
      set(advice "install all headers of CUDA 13 and cuDNN 9")
    endif()
  endif()
endif()
xflow_decide(CUDA CUDA "${missing}" "${advice}")
if(XFLOW_HAS_CUDA)
  xflow_sources(cuda_sources devices/cuda)
  add_library(xflow_cuda MODULE ${cuda_sources} src/support/shared_library.cpp)
  target_include_directories(xflow_cuda SYSTEM PRIVATE ${CUDA_INCLUDE_DIR} ${CUDNN_INCLUDE_DIR}
                                               ${CUDNN_FRONTEND_INCLUDE_DIR})
  target_compile_definitions(xflow_cuda PRIVATE NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING CUDNN_FRONTEND_SKIP_JSON_LIB)
  target_link_libraries(xflow_cuda PRIVATE xflow_compiler fmt::fmt ${CMAKE_DL_LIBS})
  target_precompile_headers(xflow_cuda REUSE_FROM xflow_pch)
  # Most of it is the frontend of cuDNN, which takes two minutes to optimise and runs once for each kernel.
  set_source_files_properties(src/devices/cuda/dnn.cpp PROPERTIES COMPILE_OPTIONS -O1)
  set_target_properties(xflow_cuda PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  if(TARGET xflow)
    add_dependencies(xflow xflow_cuda) # whoever builds the program has its devices
  endif()
  install(TARGETS xflow_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/xflow)
endif()
