# `cmake --install`: headers, a static library for each module, find_package(gibbsite), pkg-config, the program.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME dev)  # of the Debian packages
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/gibbsite)
get_property(modules GLOBAL PROPERTY gibbsite_modules)

# Each module and gibbsite::gibbsite in a file of its own, so that what one links need not be there for another.
set(components ${modules})
if(TARGET gibbsite)
  list(APPEND components gibbsite)
  install(FILES ${PROJECT_SOURCE_DIR}/include/gibbsite/gibbsite.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gibbsite)
endif()
set(component_links "")  # what each links, as CMake code
foreach(component IN LISTS components)
  set(target gibbsite_${component})
  if(component STREQUAL "gibbsite")
    set(target gibbsite)
  endif()
  install(TARGETS ${target} EXPORT gibbsite-${component}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT gibbsite-${component} NAMESPACE gibbsite:: FILE gibbsite-${component}-targets.cmake
          DESTINATION ${package})
  get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
  list(FILTER links INCLUDE REGEX "^[A-Za-z0-9_]+::")
  string(APPEND component_links "set(gibbsite_links_${component} \"${links}\")\n")
endforeach()
foreach(module IN LISTS modules)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/gibbsite/${module} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gibbsite
          FILES_MATCHING PATTERN "*.hpp")
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/include/gibbsite/version.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gibbsite)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/gibbsite-config.cmake.in
                              ${PROJECT_BINARY_DIR}/package/gibbsite-config.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/gibbsite-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/gibbsite-config.cmake
              ${PROJECT_BINARY_DIR}/package/gibbsite-config-version.cmake
              ${CMAKE_CURRENT_LIST_DIR}/GibbsitePackages.cmake ${CMAKE_CURRENT_LIST_DIR}/Findcsv.cmake
              ${CMAKE_CURRENT_LIST_DIR}/Findzstd.cmake ${CMAKE_CURRENT_LIST_DIR}/Findutf8proc.cmake
              ${CMAKE_CURRENT_LIST_DIR}/Findsodium.cmake ${CMAKE_CURRENT_LIST_DIR}/Findmpfr.cmake DESTINATION ${package})
foreach(program gibbsite_cli gibbsite_verify)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  endif()
endforeach()
if(TARGET gibbsite_c)  # the C interface
  install(TARGETS gibbsite_c LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT dev)
  install(FILES ${PROJECT_SOURCE_DIR}/include/gibbsite.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
foreach(plugin gibbsite_parquet gibbsite_mpi gibbsite_nccl)
  if(TARGET ${plugin})
    install(TARGETS ${plugin} LIBRARY DESTINATION lib COMPONENT program)  # where the program looks: ../lib
  endif()
endforeach()

# pkg-config: gibbsite-certificate of the public layer, and gibbsite of the others, which asks for it.
file(RELATIVE_PATH to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" to_prefix "${to_prefix}")
# gibbsite_pkg_config(NAME DESCRIPTION REQUIRES MODULES LIBRARY...)
function(gibbsite_pkg_config name description requires modules)
  list(REVERSE modules)  # declared from the bottom up; a linker reads from the top down
  list(TRANSFORM modules PREPEND -lgibbsite_)
  string(JOIN " " libraries ${modules} ${ARGN})
  configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/gibbsite.pc.in ${PROJECT_BINARY_DIR}/package/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/package/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
if(TARGET gibbsite_c)
  gibbsite_pkg_config(gibbsite-c "${PROJECT_DESCRIPTION}: the C interface" "" "" -lgibbsite)
endif()
set(public_modules core model privacy mechanism certificate)
gibbsite_pkg_config(gibbsite-certificate "Recomputes what gibbsite's models claim" "" "${public_modules}"
                    -lfmt -lsodium -lmpfr -lgmp)
if(GIBBSITE_ENGINE)
  list(REMOVE_ITEM modules ${public_modules})
  set(libraries -ltomlplusplus -lcsv -lz -lzstd -lutf8proc -lhwy -lsqlite3 -fopenmp ${CMAKE_DL_LIBS})
  list(TRANSFORM libraries REPLACE "^dl$" "-ldl")
  if(GIBBSITE_HAS_CUDA)
    list(APPEND libraries -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt -lpthread)
  endif()
  gibbsite_pkg_config(gibbsite "${PROJECT_DESCRIPTION}" "gibbsite-certificate = ${PROJECT_VERSION}" "${modules}" ${libraries})
endif()
