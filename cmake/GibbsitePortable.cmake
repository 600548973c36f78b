# GIBBSITE_PORTABLE=ON (scripts/wheel --portable): links against the older C library of build/portable
# (scripts/portable-libraries), and static libraries where Debian's shared ones need a newer one: libstdc++ too.
set(portable ${PROJECT_SOURCE_DIR}/build/portable)
set_target_properties(fmt::fmt PROPERTIES IMPORTED_LOCATION_NONE ${portable}/lib/libfmt.a)
set_target_properties(tomlplusplus::tomlplusplus PROPERTIES IMPORTED_LOCATION ${portable}/lib/libtomlplusplus.a)
find_library(GIBBSITE_STATIC_SODIUM libsodium.a REQUIRED)
find_library(GIBBSITE_STATIC_SQLITE libsqlite3.a REQUIRED)
find_library(GIBBSITE_STATIC_ZSTD libzstd.a REQUIRED)
set_target_properties(sodium::sodium PROPERTIES INTERFACE_LINK_LIBRARIES ${GIBBSITE_STATIC_SODIUM})
set_target_properties(zstd::zstd PROPERTIES INTERFACE_LINK_LIBRARIES ${GIBBSITE_STATIC_ZSTD})
set_target_properties(SQLite::SQLite3 PROPERTIES IMPORTED_LOCATION ${GIBBSITE_STATIC_SQLITE}
                      INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};m")
# g++ would look beside itself first, and find this machine's C library.
add_link_options(--sysroot=${portable}/sysroot -L${portable}/lib -L${portable}/sysroot/usr/lib/x86_64-linux-gnu
                 -L${portable}/sysroot/lib/x86_64-linux-gnu -static-libstdc++ LINKER:--exclude-libs,ALL
                 ${portable}/lib/older.o)
