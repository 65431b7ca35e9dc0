# Finds the Z3 library and headers of version Z3_FIND_VERSION or newer and defines Z3::Z3.
#
# A header and a library belong together only if they come from one prefix, so candidates are looked at prefix by prefix and the
# version in z3_version.h decides: an old z3 in a system folder never wins over the right one elsewhere.

set(Z3_prefixes ${Z3_ROOT} ${XFLOW_DEPS_DIR}/prefix/z3 ${CMAKE_PREFIX_PATH} /usr/local /usr)
unset(Z3_INCLUDE_DIR)
unset(Z3_LIBRARY)
foreach(prefix IN LISTS Z3_prefixes)
  unset(Z3_candidate_include)
  unset(Z3_candidate_library)
  find_path(Z3_candidate_include z3++.h PATHS ${prefix} PATH_SUFFIXES include include/z3 NO_DEFAULT_PATH NO_CACHE)
  find_library(Z3_candidate_library z3 PATHS ${prefix} PATH_SUFFIXES lib lib64 ${CMAKE_INSTALL_LIBDIR} NO_DEFAULT_PATH NO_CACHE)
  if(Z3_candidate_include AND Z3_candidate_library AND EXISTS ${Z3_candidate_include}/z3_version.h)
    file(STRINGS ${Z3_candidate_include}/z3_version.h Z3_version_lines REGEX "define Z3_(MAJOR_VERSION|MINOR_VERSION|BUILD_NUMBER) ")
    list(TRANSFORM Z3_version_lines REPLACE "^.*[ ]+([0-9]+).*$" "\\1")
    list(JOIN Z3_version_lines "." Z3_candidate_version)
    if(NOT Z3_FIND_VERSION OR Z3_candidate_version VERSION_GREATER_EQUAL Z3_FIND_VERSION)
      set(Z3_INCLUDE_DIR ${Z3_candidate_include})
      set(Z3_LIBRARY ${Z3_candidate_library})
      set(Z3_VERSION ${Z3_candidate_version})
      break()
    endif()
  endif()
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Z3 REQUIRED_VARS Z3_LIBRARY Z3_INCLUDE_DIR VERSION_VAR Z3_VERSION)

if(Z3_FOUND AND NOT TARGET Z3::Z3)
  add_library(Z3::Z3 SHARED IMPORTED)
  set_target_properties(Z3::Z3 PROPERTIES IMPORTED_LOCATION ${Z3_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${Z3_INCLUDE_DIR})
endif()
