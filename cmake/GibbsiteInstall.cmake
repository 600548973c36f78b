# `cmake --install`: headers, a static library for each room, find_package(gibbsite), pkg-config, the program.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/gibbsite)
get_property(rooms GLOBAL PROPERTY gibbsite_rooms)

list(TRANSFORM rooms PREPEND gibbsite_ OUTPUT_VARIABLE targets)
install(TARGETS gibbsite ${targets} EXPORT gibbsite
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT gibbsite NAMESPACE gibbsite:: FILE gibbsite-targets.cmake DESTINATION ${package})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ ${PROJECT_BINARY_DIR}/include/
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/gibbsite-config.cmake.in
                              ${PROJECT_BINARY_DIR}/package/gibbsite-config.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/gibbsite-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/gibbsite-config.cmake
              ${PROJECT_BINARY_DIR}/package/gibbsite-config-version.cmake
              ${CMAKE_CURRENT_LIST_DIR}/GibbsiteFindLibraries.cmake DESTINATION ${package})
if(GIBBSITE_PROGRAM)
  install(TARGETS gibbsite_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
foreach(plugin gibbsite_parquet gibbsite_mpi gibbsite_nccl)
  if(TARGET ${plugin})
    install(TARGETS ${plugin} LIBRARY DESTINATION lib)  # where the program looks: ../lib
  endif()
endforeach()

# pkg-config: rooms were declared from the bottom up, a linker reads from the top down.
list(REVERSE targets)
list(TRANSFORM targets PREPEND -l)
set(libraries ${targets} -lfmt -lsodium -ltomlplusplus -lcsv -lhwy -lsqlite3 -fopenmp ${CMAKE_DL_LIBS})
list(TRANSFORM libraries REPLACE "^dl$" "-ldl")
if(GIBBSITE_HAS_CUDA)
  list(APPEND libraries -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt -lpthread)
endif()
list(JOIN libraries " " libraries)
file(RELATIVE_PATH to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" to_prefix "${to_prefix}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/gibbsite.pc.in ${PROJECT_BINARY_DIR}/package/gibbsite.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/gibbsite.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
