# Finds every dependency (Debian packages: `make deps`) and gives each an imported target.
include(GibbsitePackages)
set(needed fmt sodium mpfr Boost nlohmann_json)
if(GIBBSITE_ENGINE)
  list(APPEND needed Threads tomlplusplus csv ZLIB zstd utf8proc FastFloat hwy Eigen3 OpenMP SQLite)
endif()
foreach(library IN LISTS needed)
  find_package(${gibbsite_package_${library}} REQUIRED)
endforeach()
if(NOT GIBBSITE_ENGINE)
  return()
endif()
if(GIBBSITE_TESTS)
  find_package(Boost 1.74 REQUIRED COMPONENTS context)
endif()
if(GIBBSITE_PROGRAM)
  find_package(CLI11 2 REQUIRED)
endif()

# Thrust for g++: on threads or in one. The CUDA toolkit's where the cuda backend is built, so that
# both compilers read one version; Debian's libthrust-dev elsewhere.
if(GIBBSITE_HAS_CUDA)
  list(TRANSFORM CUDAToolkit_INCLUDE_DIRS APPEND /cccl OUTPUT_VARIABLE cccl)
  find_path(GIBBSITE_THRUST_CUDA thrust/version.h PATHS ${cccl} ${CUDAToolkit_INCLUDE_DIRS}
            NO_DEFAULT_PATH REQUIRED)
  set(thrust ${GIBBSITE_THRUST_CUDA})
else()
  find_path(GIBBSITE_THRUST thrust/version.h REQUIRED)
  set(thrust ${GIBBSITE_THRUST})
endif()
add_library(gibbsite_thrust INTERFACE)
target_include_directories(gibbsite_thrust SYSTEM INTERFACE ${thrust})
target_compile_definitions(gibbsite_thrust INTERFACE
                           $<$<COMPILE_LANGUAGE:CXX>:THRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_OMP>)
target_link_libraries(gibbsite_thrust INTERFACE OpenMP::OpenMP_CXX)

# gibbsite_thrust_source(FILE...): sources whose Thrust runs on the host. Thrust passes its (empty)
# systems by null references and copies nothing from null, where the sanitizer of undefined behavior
# would stop.
function(gibbsite_thrust_source)
  if(GIBBSITE_SANITIZE MATCHES "undefined")
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "-fno-sanitize=null,nonnull-attribute")
  endif()
endfunction()
