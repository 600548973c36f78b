# Helpers: a module library, a test per module, a test per backend.

# Flags of our own code; dependencies are system headers.
add_library(gibbsite_flags INTERFACE)
target_compile_options(gibbsite_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:\
-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wsign-conversion;-Wno-psabi;\
$<$<BOOL:${GIBBSITE_WERROR}>:-Werror>>")
if(GIBBSITE_SANITIZE)
  add_compile_options(-fsanitize=${GIBBSITE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${GIBBSITE_SANITIZE})
endif()

# gibbsite_module(NAME LINK lib...): host/NAME/**.cpp
function(gibbsite_module name)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/host/${name}/*.cpp)
  add_library(gibbsite_${name} STATIC ${sources})
  add_library(gibbsite::${name} ALIAS gibbsite_${name})
  target_include_directories(gibbsite_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include
                             PRIVATE ${PROJECT_SOURCE_DIR}/host ${PROJECT_SOURCE_DIR})
  target_link_libraries(gibbsite_${name} PUBLIC ${arg_LINK} PRIVATE gibbsite_flags)
  target_compile_definitions(gibbsite_${name} PRIVATE GIBBSITE_VERSION="${PROJECT_VERSION}")
endfunction()

# gibbsite_test(NAME [NEEDS_GPU] SOURCES ... [LINK ...] [DEFINE ...]): one GoogleTest program, one ctest per
# case; one in all for what needs a GPU, so that a machine without one says so in one line.
function(gibbsite_test name)
  cmake_parse_arguments(arg "NEEDS_GPU" "" "SOURCES;LINK;DEFINE" ${ARGN})
  add_executable(test_${name} ${arg_SOURCES})
  target_link_libraries(test_${name} PRIVATE ${arg_LINK} gibbsite_flags GTest::gmock GTest::gtest_main)
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/host
                             ${PROJECT_SOURCE_DIR})
  target_compile_definitions(test_${name} PRIVATE
    GIBBSITE_SHARED_DIR="${PROJECT_SOURCE_DIR}/../shared"
    GIBBSITE_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    GIBBSITE_CLI="$<TARGET_FILE:gibbsite_cli>"
    ${arg_DEFINE})
  if(GIBBSITE_SANITIZE)  # tests that cost much run less of the same
    target_compile_definitions(test_${name} PRIVATE GIBBSITE_SANITIZED)
  endif()
  if(arg_NEEDS_GPU)
    add_test(NAME ${name} COMMAND test_${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT 900 SKIP_REGULAR_EXPRESSION "no GPU")
    return()
  endif()
  gtest_discover_tests(test_${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600
                       ENVIRONMENT OMP_WAIT_POLICY=PASSIVE)
endfunction()

# One source, one program for each of `variants`, named in DEFINITION; and one for "cuda" where nvcc is,
# which skips without a GPU.
function(gibbsite_test_variants name definition variants)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  foreach(variant IN LISTS variants)
    gibbsite_test(${name}_${variant} SOURCES ${arg_SOURCES} LINK ${arg_LINK} gibbsite_emulator
                  DEFINE ${definition}="${variant}")
  endforeach()
  if(GIBBSITE_HAS_CUDA)
    gibbsite_test(${name}_cuda NEEDS_GPU SOURCES ${arg_SOURCES} LINK ${arg_LINK} gibbsite_emulator
                  DEFINE ${definition}="cuda")
  endif()
endfunction()

# x_reference, x_cpu, x_emulated (the cuda engine on a card in software), x_cuda.
function(add_backend_test name)
  gibbsite_test_variants(${name} GIBBSITE_TEST_BACKEND "reference;cpu;emulated" ${ARGN})
endfunction()

# Tests of kernels: x_emulated, x_cuda.
function(add_device_test name)
  gibbsite_test_variants(${name} GIBBSITE_TEST_DEVICE emulated ${ARGN})
endfunction()
