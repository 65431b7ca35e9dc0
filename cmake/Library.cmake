# libxflow.so, and everything that `cmake --install` puts in place.
include(CMakePackageConfigHelpers)

get_target_property(api_type xflow_api TYPE)
if(api_type STREQUAL "STATIC_LIBRARY")
  # The objects of src/api and src/capi, of reports and of graphs that are built in code (src/optimizer) are what a user links to; other
  # modules and third-party archives stay inside. Hidden visibility leaves templates of the standard library visible, so a version script has the last
  # word.
  add_library(xflow_shared SHARED $<TARGET_OBJECTS:xflow_api> $<TARGET_OBJECTS:xflow_capi> $<TARGET_OBJECTS:xflow_report> $<TARGET_OBJECTS:xflow_optimizer>)
  add_library(xflow::xflow ALIAS xflow_shared)
  set_target_properties(
    xflow_shared
    PROPERTIES OUTPUT_NAME xflow EXPORT_NAME xflow VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
               LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/exports.map LINKER_LANGUAGE CXX)
  get_target_property(api_libraries xflow_api LINK_LIBRARIES)
  target_link_libraries(xflow_shared PRIVATE ${api_libraries})
  target_link_options(
    xflow_shared PRIVATE LINKER:--exclude-libs,ALL LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/exports.map LINKER:--no-undefined)
  target_include_directories(xflow_shared INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(xflow_shared INTERFACE cxx_std_20)
  set(installed xflow_shared)

  install(TARGETS xflow_shared EXPORT xflow-targets)
  install(EXPORT xflow-targets NAMESPACE xflow:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/xflow)
  configure_package_config_file(cmake/xflow-config.cmake.in ${PROJECT_BINARY_DIR}/package/xflow-config.cmake
                                INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/xflow)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/xflow-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/package/xflow-config.cmake ${PROJECT_BINARY_DIR}/package/xflow-config-version.cmake
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/xflow)
  configure_file(cmake/xflow.pc.in ${PROJECT_BINARY_DIR}/package/xflow.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/package/xflow.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  install(DIRECTORY include/xflow DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
if(TARGET xflow)
  list(APPEND installed xflow)
  install(TARGETS xflow)
endif()

if(installed)
  # A Z3 of our own travels along; one of the system stays where it is.
  if(TARGET Z3::Z3)
    get_target_property(z3_file Z3::Z3 IMPORTED_LOCATION)
    file(REAL_PATH ${z3_file} z3_file)
    file(REAL_PATH ${XFLOW_DEPS_DIR} deps) # it may be a link
    cmake_path(IS_PREFIX deps ${z3_file} z3_is_ours)
    if(z3_is_ours)
      install(FILES ${z3_file} DESTINATION ${CMAKE_INSTALL_LIBDIR}/xflow)
    else()
      set(install_rpath_use_link_path ON)
    endif()
  endif()
  set_target_properties(
    ${installed} PROPERTIES INSTALL_RPATH "$ORIGIN/xflow;$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/xflow" INSTALL_RPATH_USE_LINK_PATH
                                                                                             "${install_rpath_use_link_path}")
  install(DIRECTORY substitutions policies DESTINATION ${CMAKE_INSTALL_DATADIR}/xflow OPTIONAL)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()

# The program of the Python package: it uses the library beside it and no MPI.
if(TARGET xflow AND TARGET xflow_shared)
  file(GLOB alone_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cli/processes/*.cpp ${PROJECT_SOURCE_DIR}/src/cli/processes/no_mpi/*.cpp)
  add_executable(xflow_alone EXCLUDE_FROM_ALL src/cli/main.cpp $<TARGET_OBJECTS:xflow_cli> ${alone_sources})
  target_link_libraries(xflow_alone PRIVATE xflow_shared xflow_compiler fmt::fmt CLI11::CLI11 nlohmann_json::nlohmann_json Threads::Threads)
  set_target_properties(xflow_alone PROPERTIES INSTALL_RPATH "$ORIGIN/.." BUILD_WITH_INSTALL_RPATH ON)
endif()
