# The shipped rules: their texts go into the library, and with them the records of their proofs. The build decides every rule anew and
# stops at one that is not proved.
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
  add_custom_command(
    OUTPUT ${generated}/shipped_rule_records.inc
    COMMAND xflow_prove ${PROJECT_SOURCE_DIR}/substitutions ${generated}/shipped_rule_records.inc --jobs 2
    DEPENDS xflow_prove ${rule_files}
    COMMENT "Proving the shipped rules"
    VERBATIM)
  add_custom_target(xflow_rule_records DEPENDS ${generated}/shipped_rule_records.inc)
endif()
