# Rooms: one static library for each folder of src/, and the programs made of them.

set(XFLOW_ROOMS "" CACHE INTERNAL "rooms declared so far, top to bottom")

# Stops with the command that installs it if a room that has sources uses a library that was not found.
function(xflow_need room)
  foreach(library IN LISTS ARGN)
    if(NOT TARGET ${library})
      message(FATAL_ERROR "src/${room} needs ${library}, which was not found: run scripts/deps (see README.md, section \"What is needed\")")
    endif()
  endforeach()
endfunction()

# The sources of src/ROOM and of the listed folders in it.
function(xflow_sources result room)
  set(patterns src/${room}/*.cpp)
  foreach(folder IN LISTS ARGN)
    list(APPEND patterns src/${room}/${folder}/*.cpp)
  endforeach()
  list(TRANSFORM patterns PREPEND ${PROJECT_SOURCE_DIR}/)
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  set(${result} ${sources} PARENT_SCOPE)
endfunction()

# xflow_room(NAME [TOGETHER n] [FOLDERS folder...] [LIBRARIES target...]): the library xflow_NAME of src/NAME/*.cpp, on top of all rooms
# declared before it. LIBRARIES are for this room (and its tests) alone. A room without sources is only a name for the rooms above it.
# TOGETHER compiles n sources as one where XFLOW_TOGETHER is on (names in their unnamed namespaces must be unique in the room): much of
# the compiler's time goes into headers and templates that sources have in common.
function(xflow_room name)
  cmake_parse_arguments(PARSE_ARGV 1 room "" "TOGETHER" "FOLDERS;LIBRARIES")
  set(target xflow_${name})
  set(above ${XFLOW_ROOMS})
  list(TRANSFORM above PREPEND xflow_)
  xflow_sources(sources ${name} ${room_FOLDERS})
  if(sources)
    xflow_need(${name} fmt::fmt ${room_LIBRARIES})
    add_library(${target} STATIC ${sources})
    target_link_libraries(${target} PUBLIC xflow_compiler fmt::fmt Threads::Threads ${above} PRIVATE ${room_LIBRARIES})
    if(NOT TARGET xflow_pch)
      add_library(xflow_pch STATIC ${PROJECT_BINARY_DIR}/pch.cpp)
      target_link_libraries(xflow_pch PRIVATE xflow_compiler fmt::fmt Threads::Threads)
      target_precompile_headers(xflow_pch PRIVATE ${XFLOW_STD_HEADERS})
    endif()
    target_precompile_headers(${target} REUSE_FROM xflow_pch)
    if(room_TOGETHER AND XFLOW_TOGETHER)
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${room_TOGETHER})
    endif()
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE xflow_compiler ${above})
  endif()
  set(XFLOW_LIBRARIES_${name} "${room_LIBRARIES}" CACHE INTERNAL "third-party libraries of src/${name}")
  set(XFLOW_ROOMS ${XFLOW_ROOMS} ${name} CACHE INTERNAL "rooms declared so far, top to bottom")
endfunction()

# xflow_program(NAME ROOM room [LIBRARIES target...]): the executable NAME of src/ROOM/*.cpp, on top of all rooms. Everything but
# main.cpp is the library xflow_ROOM, so that tests can link it. No program without a main.cpp.
function(xflow_program name)
  cmake_parse_arguments(PARSE_ARGV 1 program "" "ROOM" "LIBRARIES")
  set(main ${PROJECT_SOURCE_DIR}/src/${program_ROOM}/main.cpp)
  xflow_room(${program_ROOM} TOGETHER 8 LIBRARIES ${program_LIBRARIES})
  get_target_property(type xflow_${program_ROOM} TYPE)
  if(type STREQUAL "STATIC_LIBRARY" AND EXISTS ${main})
    get_target_property(sources xflow_${program_ROOM} SOURCES)
    list(REMOVE_ITEM sources ${main})
    if(NOT sources)
      set(sources ${PROJECT_BINARY_DIR}/pch.cpp)
    endif()
    set_target_properties(xflow_${program_ROOM} PROPERTIES SOURCES "${sources}")
    add_executable(${name} ${main})
    target_link_libraries(${name} PRIVATE xflow_${program_ROOM} ${program_LIBRARIES})
  endif()
endfunction()
