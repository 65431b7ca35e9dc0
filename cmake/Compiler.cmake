# How every target is compiled: language, warnings, visibility, sanitizers, compiler cache, precompiled headers.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()

# The cache may be shared between build folders: paths below the repository are made relative, and the folder of the compilation is
# not part of the key. The sloppiness is what precompiled headers need.
find_program(XFLOW_CCACHE ccache)
if(XFLOW_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_NOHASHDIR=1
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${XFLOW_CCACHE})
endif()

add_library(xflow_compiler INTERFACE)
target_include_directories(xflow_compiler INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_compile_options(xflow_compiler INTERFACE -Wall -Wextra -Wpedantic)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 at -O2 reports overlapping copies inside std::string, and std::vector deleting inside an allocation, where there are none.
  target_compile_options(xflow_compiler INTERFACE -Wno-restrict -Wno-free-nonheap-object)
  # ccache wants precompiled headers to be preprocessed.
  target_compile_options(xflow_compiler INTERFACE -fpch-preprocess)
  # No garbage collection below 1 GB: 8 % less time for the larger sources.
  target_compile_options(xflow_compiler INTERFACE --param=ggc-min-heapsize=1000000)
else()
  # clang writes absolute paths into precompiled headers, so that with them no object is in the cache for another folder.
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
  # For __FILE__ in asserts: sources that are compiled together are included by absolute paths.
  target_compile_options(xflow_compiler INTERFACE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
endif()
# Other compilers have other warnings. No script sets this option, so that they all compile alike and share one build.
if(XFLOW_WERROR AND "${CMAKE_CXX_COMPILER_ID}-${CMAKE_CXX_COMPILER_VERSION}" MATCHES "^(GNU-12|Clang-14)\\.")
  target_compile_options(xflow_compiler INTERFACE -Werror)
endif()
if(XFLOW_SANITIZE)
  target_compile_options(xflow_compiler INTERFACE -fsanitize=${XFLOW_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(xflow_compiler INTERFACE -fsanitize=${XFLOW_SANITIZE})
  find_program(XFLOW_LLD ld.lld) # programs of some 200 MB, which GNU ld links in five times the time
  if(XFLOW_LLD)
    target_link_options(xflow_compiler INTERFACE -fuse-ld=lld)
  endif()
  if(XFLOW_SANITIZE MATCHES "fuzzer") # see xflow_module
    target_compile_options(xflow_compiler INTERFACE $<$<BOOL:$<TARGET_PROPERTY:XFLOW_UNFUZZED>>:-fno-sanitize=fuzzer-no-link>)
    target_compile_options(xflow_compiler INTERFACE $<$<BOOL:$<TARGET_PROPERTY:XFLOW_HOT>>:-O1>)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU") # g++ sees uninitialised members in what the sanitizers add
    target_compile_options(xflow_compiler INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()

# One precompiled header for all libraries. Executables are compiled as position independent executables, which the compilers do not
# mix with precompiled headers of libraries, so the tests have their own (see tests/CMakeLists.txt).
set(XFLOW_STD_HEADERS
    <algorithm> <array> <cassert> <cmath> <cstddef> <cstdint> <cstring> <functional> <limits> <map> <memory> <numeric> <optional> <set>
    <span> <string> <string_view> <tuple> <unordered_map> <unordered_set> <utility> <variant> <vector> <fmt/format.h>)
file(WRITE ${PROJECT_BINARY_DIR}/pch.cpp.new "")
file(COPY_FILE ${PROJECT_BINARY_DIR}/pch.cpp.new ${PROJECT_BINARY_DIR}/pch.cpp ONLY_IF_DIFFERENT)
