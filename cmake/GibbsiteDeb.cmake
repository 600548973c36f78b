# `cpack -G DEB` (scripts/deb): gibbsite, with the program, its pages of man and completions, and libgibbsite-dev, with
# headers and static libraries, and libgibbsite0, the C interface. What they depend on is Debian's; dpkg-shlibdeps finds it for the program.
find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)
set(files ${PROJECT_BINARY_DIR}/command-files)
add_custom_command(OUTPUT ${files}/gibbsite.1.gz
                   COMMAND Python3::Interpreter -B ${PROJECT_SOURCE_DIR}/scripts/command_files.py
                           $<TARGET_FILE:gibbsite_cli> ${files}
                   DEPENDS gibbsite_cli ${PROJECT_SOURCE_DIR}/scripts/command_files.py VERBATIM)
add_custom_command(OUTPUT ${files}/copyright
                   COMMAND Python3::Interpreter -B ${PROJECT_SOURCE_DIR}/scripts/notices.py copyright ${files}/copyright
                   DEPENDS ${files}/gibbsite.1.gz ${PROJECT_SOURCE_DIR}/scripts/notices.py ${PROJECT_SOURCE_DIR}/THIRD-PARTY.md
                   VERBATIM)
add_custom_target(gibbsite_command_files ALL DEPENDS ${files}/gibbsite.1.gz ${files}/copyright)
install(DIRECTORY ${files}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program FILES_MATCHING PATTERN "*.1.gz")
install(FILES ${files}/gibbsite.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME gibbsite
        COMPONENT program)
install(FILES ${files}/_gibbsite DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT program)
install(FILES ${files}/gibbsite.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program)
install(FILES ${files}/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/gibbsite COMPONENT program)
install(FILES ${files}/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libgibbsite0 COMPONENT library)
install(FILES ${files}/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libgibbsite-dev COMPONENT dev)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The gibbsite maintainers")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program library dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "${PROJECT_DESCRIPTION}
 The program: fits logistic, linear and Poisson regressions, tables and networks under differential privacy, and
 recomputes the certificates of published ones.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME gibbsite)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION math)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "${PROJECT_DESCRIPTION} (C interface)
 The shared library of gibbsite.h, which the package gibbsite of R uses.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libgibbsite0)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_COMPONENT_DEV_DESCRIPTION "${PROJECT_DESCRIPTION} (development)
 Headers and static libraries of every module, for find_package(gibbsite) and pkg-config, and the C interface's header.")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libgibbsite-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libgibbsite0 (= ${PROJECT_VERSION}), libfmt-dev, libsodium-dev, libmpfr-dev, libboost-dev, nlohmann-json3-dev, \
libtomlplusplus-dev, libcsv-dev, zlib1g-dev, libzstd-dev, libutf8proc-dev, libfast-float-dev, libhwy-dev, libeigen3-dev, \
libsqlite3-dev")
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "g++, cmake | pkgconf")
include(CPack)
