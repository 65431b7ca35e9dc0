# The shipped rules: their texts go into the library, and with them the records of their proofs. The build replays every record and stops
# at a rule of which it is missing, stale or wrong; `xflow_prove substitutions --renew` decides the rules again and writes the records.
file(GLOB rule_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/substitutions/*.rules)
set(generated ${PROJECT_BINARY_DIR}/generated)
set(texts "")
foreach(file IN LISTS rule_files)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  cmake_path(GET file FILENAME name)
  file(READ ${file} text)
  string(APPEND texts "{\"${name}\", R\"rules(${text})rules\"},\n")
endforeach()
file(CONFIGURE OUTPUT ${generated}/shipped_rule_texts.inc CONTENT "@texts@" @ONLY)

if(EXISTS ${PROJECT_SOURCE_DIR}/src/verifier/tool/prove_main.cpp)
  add_executable(xflow_prove src/verifier/tool/prove_main.cpp)
  target_link_libraries(xflow_prove PRIVATE xflow_verifier xflow_compiler)
  file(GLOB proof_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/substitutions/*.proofs)
  set(records ${generated}/shipped_rule_records.inc ${generated}/shipped_rule_proofs.inc)
  # Another build's program judges the same, and quickly where this one has sanitizers.
  set(prove ${XFLOW_PROVE})
  if(NOT prove)
    set(prove xflow_prove)
  endif()
  set(leave_out "")
  if(NOT XFLOW_HAS_Z3)
    set(leave_out --leave-out) # some records need Z3 to be replayed
  endif()
  add_custom_command(
    OUTPUT ${records}
    COMMAND ${prove} ${PROJECT_SOURCE_DIR}/substitutions ${records} ${leave_out} --jobs 2
    DEPENDS ${prove} ${rule_files} ${proof_files}
    COMMENT "Replaying the proofs of the shipped rules"
    VERBATIM)
  add_custom_target(xflow_rule_records DEPENDS ${records})
endif()
