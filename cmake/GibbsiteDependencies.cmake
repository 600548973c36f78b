# Finds every dependency (Debian packages: `make deps`) and gives each an imported target.
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(fmt REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(Boost 1.74 REQUIRED)
if(GIBBSITE_TESTS)
  find_package(Boost 1.74 REQUIRED COMPONENTS context)
endif()
find_package(nlohmann_json 3 REQUIRED)
find_package(tomlplusplus 3 REQUIRED)
find_package(CLI11 2 REQUIRED)
find_package(FastFloat REQUIRED)
find_package(hwy CONFIG REQUIRED)

# gibbsite_find_library(NAME HEADER): the target NAME::NAME of a library without a CMake package.
function(gibbsite_find_library name header)
  string(TOUPPER ${name} upper)
  find_path(${upper}_INCLUDE_DIR ${header} REQUIRED)
  find_library(${upper}_LIBRARY ${name} REQUIRED)
  add_library(${name}::${name} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${name}::${name} SYSTEM INTERFACE ${${upper}_INCLUDE_DIR})
  target_link_libraries(${name}::${name} INTERFACE ${${upper}_LIBRARY})
endfunction()
gibbsite_find_library(csv csv.h)
gibbsite_find_library(sodium sodium.h)

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
# systems by null references and copies nothing from null, where the sanitizer of undefined behaviour
# would stop.
function(gibbsite_thrust_source)
  if(GIBBSITE_SANITIZE MATCHES "undefined")
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "-fno-sanitize=null,nonnull-attribute")
  endif()
endfunction()
