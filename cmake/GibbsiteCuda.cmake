# The cuda backend. GIBBSITE_CUDA=ON needs nvcc, AUTO takes it when it is there, OFF leaves it out.
# Sets GIBBSITE_HAS_CUDA. kernels/*.cu are compiled for sm_80 and sm_90 with PTX for later cards,
# those named *_sm90a.cu for sm_90a alone (warp-group instructions).

set(GIBBSITE_HAS_CUDA OFF)
if(NOT GIBBSITE_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  find_program(GIBBSITE_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
  if(GIBBSITE_NVCC AND NOT CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_COMPILER ${GIBBSITE_NVCC})
  endif()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90)  # 90: machine code, and PTX for later cards
  endif()
  if(GIBBSITE_NVCC)
    enable_language(CUDA)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc has it
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    endif()
    find_package(CUDAToolkit 12.4 REQUIRED)
    set(GIBBSITE_HAS_CUDA ON)
  elseif(GIBBSITE_CUDA STREQUAL "ON")
    message(FATAL_ERROR "GIBBSITE_CUDA=ON, and there is no nvcc on PATH nor in /usr/local/cuda/bin; "
                        "install the CUDA toolkit (12.4 or later) or use GIBBSITE_CUDA=OFF")
  endif()
endif()
if(GIBBSITE_HAS_CUDA)
  message(STATUS "cuda backend: ON (nvcc ${CMAKE_CUDA_COMPILER_VERSION})")
else()
  message(STATUS "cuda backend: OFF")
endif()

# gibbsite_kernel_objects(TARGET MODULE [UNREPORTED] ARCHITECTURES... SOURCES ...): an object library of .cu
# files, linked into that module. UNREPORTED: ptxas says nothing of registers, for kernels that are a library's.
function(gibbsite_kernel_objects target module)
  cmake_parse_arguments(arg "UNREPORTED" "" "ARCHITECTURES;SOURCES" ${ARGN})
  add_library(${target} OBJECT ${arg_SOURCES})
  set_target_properties(${target} PROPERTIES CUDA_STANDARD 20 CUDA_ARCHITECTURES "${arg_ARCHITECTURES}"
                        UNITY_BUILD OFF)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/host
                             ${PROJECT_SOURCE_DIR}/include)
  target_compile_options(${target} PRIVATE --expt-relaxed-constexpr -lineinfo
                         $<$<NOT:$<BOOL:${arg_UNREPORTED}>>:-Xptxas=-v>
                         $<$<BOOL:${GIBBSITE_WERROR}>:--Werror=all-warnings>)
  # Keeps what ptxas says, for the test kernel_registers.
  set_target_properties(${target} PROPERTIES CUDA_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/scripts/keep-ptxas)
  target_sources(gibbsite_${module} PRIVATE $<TARGET_OBJECTS:${target}>)
endfunction()

# Adds the kernels to the engine, and those of statistics to posterior.
function(gibbsite_kernels)
  if(NOT GIBBSITE_HAS_CUDA)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/*.cu)
  set(hopper ${sources})
  set(statistics ${PROJECT_SOURCE_DIR}/kernels/ensemble_statistics.cu)  # Thrust's kernels
  list(FILTER sources EXCLUDE REGEX "_sm90a[.]cu$")
  list(REMOVE_ITEM sources ${statistics})
  list(FILTER hopper INCLUDE REGEX "_sm90a[.]cu$")
  gibbsite_kernel_objects(gibbsite_kernels engine ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES} SOURCES ${sources})
  # What clips and jumps has the bits of the operations that are written, wherever a row is.
  set_source_files_properties(${PROJECT_SOURCE_DIR}/kernels/projected_rows.cu ${PROJECT_SOURCE_DIR}/kernels/capped.cu
                              PROPERTIES COMPILE_OPTIONS -fmad=false)
  gibbsite_kernel_objects(gibbsite_statistics posterior UNREPORTED ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES}
                          SOURCES ${statistics})
  if(hopper)
    # With their PTX as text, for the test kernel_fences.
    gibbsite_kernel_objects(gibbsite_kernels_sm90a engine ARCHITECTURES 90a SOURCES ${hopper})
    target_compile_options(gibbsite_kernels_sm90a PRIVATE --no-compress)
  endif()
  target_sources(gibbsite_engine PRIVATE ${PROJECT_SOURCE_DIR}/kernels/cuda_device.cpp
                 ${PROJECT_SOURCE_DIR}/kernels/cuda_memory.cpp)
  target_compile_definitions(gibbsite_engine PRIVATE GIBBSITE_HAS_CUDA)
  target_compile_definitions(gibbsite_posterior PRIVATE GIBBSITE_HAS_CUDA)
  # cuBLASLt and cuRAND are loaded at their first use (host/engine/cuda/libraries.cpp).
  set_source_files_properties(${PROJECT_SOURCE_DIR}/host/engine/cuda/libraries.cpp PROPERTIES
                              COMPILE_DEFINITIONS "GIBBSITE_CUDA_LIBRARIES=\"${CUDAToolkit_LIBRARY_DIR}\""
                              SKIP_UNITY_BUILD_INCLUSION ON)
  target_link_libraries(gibbsite_engine PUBLIC CUDA::cudart_static ${CMAKE_DL_LIBS})
endfunction()
