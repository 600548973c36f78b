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
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90)  # 90: machine code, and PTX for later cards
  endif()
  if(GIBBSITE_NVCC)
    enable_language(CUDA)
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

# Adds the kernels to the sampler.
function(gibbsite_kernels)
  if(NOT GIBBSITE_HAS_CUDA)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/*.cu)
  add_library(gibbsite_kernels OBJECT ${sources})
  set_target_properties(gibbsite_kernels PROPERTIES CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON)
  target_include_directories(gibbsite_kernels PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/host
                             ${PROJECT_SOURCE_DIR}/include)
  # -Xptxas -v: registers and spills, which a test holds to kernels/registers.txt.
  target_compile_options(gibbsite_kernels PRIVATE --expt-relaxed-constexpr -Xptxas=-v -lineinfo)
  target_link_libraries(gibbsite_kernels PRIVATE fmt::fmt)
  target_sources(gibbsite_sampler PRIVATE $<TARGET_OBJECTS:gibbsite_kernels>)
  target_compile_definitions(gibbsite_sampler PRIVATE GIBBSITE_HAS_CUDA)
  target_link_libraries(gibbsite_sampler PUBLIC CUDA::cudart_static)
endfunction()
