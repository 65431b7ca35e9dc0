# Modules: one static library for each folder of src/, and the programs made of them.

set(XFLOW_MODULES "" CACHE INTERNAL "modules declared so far, lowest first")

# Stops with the command that installs it if a module that has sources uses a library that was not found.
function(xflow_need module)
  foreach(library IN LISTS ARGN)
    if(NOT TARGET ${library})
      message(FATAL_ERROR "src/${module} needs ${library}, which was not found: run scripts/deps (see README.md, section \"What is needed\")")
    endif()
  endforeach()
endfunction()

# Compiles `count` sources of a target as one where XFLOW_TOGETHER is ON, and all of them where it is ALL.
function(xflow_compile_together target count)
  if(XFLOW_TOGETHER STREQUAL "ALL")
    set(count 0)
  endif()
  if(XFLOW_TOGETHER)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${count})
  endif()
endfunction()

# The sources of src/MODULE and of the listed folders in it.
function(xflow_sources result module)
  set(patterns src/${module}/*.cpp)
  foreach(folder IN LISTS ARGN)
    list(APPEND patterns src/${module}/${folder}/*.cpp)
  endforeach()
  list(TRANSFORM patterns PREPEND ${PROJECT_SOURCE_DIR}/)
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  set(${result} ${sources} PARENT_SCOPE)
endfunction()

# xflow_module(NAME [HOT] [UNFUZZED] [TOGETHER n] [FOLDERS folder...] [LIBRARIES target...]): the library xflow_NAME of src/NAME/*.cpp and the
# listed folders in it, on top of all modules declared before it. LIBRARIES are for this module (and its tests) alone. A module without sources is only a
# name for the modules below it. TOGETHER compiles n sources as one where XFLOW_TOGETHER is on (names in their unnamed namespaces must be
# unique in the module): much of the compiler's time goes into headers and templates that sources have in common. UNFUZZED is a module
# that no fuzz target runs and no test of scripts/sanitize spends time in: with sanitizers it is compiled without libFuzzer's counters. In a
# HOT one these spend most of their time: with sanitizers it alone is optimised.
function(xflow_module name)
  cmake_parse_arguments(PARSE_ARGV 1 module "HOT;UNFUZZED" "TOGETHER" "FOLDERS;LIBRARIES")
  set(target xflow_${name})
  set(lower ${XFLOW_MODULES})
  list(TRANSFORM lower PREPEND xflow_)
  xflow_sources(sources ${name} ${module_FOLDERS})
  if(sources)
    xflow_need(${name} fmt::fmt ${module_LIBRARIES})
    add_library(${target} STATIC ${sources})
    target_link_libraries(${target} PUBLIC xflow_compiler fmt::fmt Threads::Threads ${lower} PRIVATE ${module_LIBRARIES})
    if(NOT TARGET xflow_pch)
      add_library(xflow_pch STATIC ${PROJECT_BINARY_DIR}/pch.cpp)
      target_link_libraries(xflow_pch PRIVATE xflow_compiler fmt::fmt Threads::Threads)
      target_precompile_headers(xflow_pch PRIVATE ${XFLOW_STD_HEADERS})
    endif()
    target_precompile_headers(${target} REUSE_FROM xflow_pch)
    set_target_properties(${target} PROPERTIES XFLOW_UNFUZZED ${module_UNFUZZED} XFLOW_HOT ${module_HOT})
    if(module_TOGETHER)
      xflow_compile_together(${target} ${module_TOGETHER})
    endif()
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE xflow_compiler ${lower})
  endif()
  set(XFLOW_LIBRARIES_${name} "${module_LIBRARIES}" CACHE INTERNAL "third-party libraries of src/${name}")
  set(XFLOW_FOLDERS_${name} "${module_FOLDERS}" CACHE INTERNAL "folders of src/${name} that are compiled")
  set(XFLOW_MODULES ${XFLOW_MODULES} ${name} CACHE INTERNAL "modules declared so far, lowest first")
endfunction()

# xflow_program(NAME MODULE module [LIBRARIES target...]): the executable NAME of src/MODULE/*.cpp, on top of all modules. Everything but
# main.cpp is the library xflow_MODULE, so that tests can link it. No program without a main.cpp.
function(xflow_program name)
  cmake_parse_arguments(PARSE_ARGV 1 program "" "MODULE" "LIBRARIES")
  set(main ${PROJECT_SOURCE_DIR}/src/${program_MODULE}/main.cpp)
  xflow_module(${program_MODULE} UNFUZZED TOGETHER 8 LIBRARIES ${program_LIBRARIES})
  get_target_property(type xflow_${program_MODULE} TYPE)
  if(type STREQUAL "STATIC_LIBRARY" AND EXISTS ${main})
    get_target_property(sources xflow_${program_MODULE} SOURCES)
    list(REMOVE_ITEM sources ${main})
    if(NOT sources)
      set(sources ${PROJECT_BINARY_DIR}/pch.cpp)
    endif()
    set_target_properties(xflow_${program_MODULE} PROPERTIES SOURCES "${sources}")
    add_executable(${name} ${main})
    target_link_libraries(${name} PRIVATE xflow_${program_MODULE} ${program_LIBRARIES})
  endif()
endfunction()
