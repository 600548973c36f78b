# Helpers: a module library, a test per module, a test per backend.

# Flags of our own code; dependencies are system headers. Sources read as one (a unity build) see each other's names,
# and g++ takes their anonymous namespaces for a header's.
add_library(gibbsite_flags INTERFACE)
target_compile_options(gibbsite_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:\
-Wall;-Wextra;-Wpedantic;\
$<IF:$<NOT:$<BOOL:${CMAKE_UNITY_BUILD}>>,-Wshadow,$<$<CXX_COMPILER_ID:GNU>:-Wshadow=local;-Wno-subobject-linkage>>;-Wconversion;-Wsign-conversion;-Wno-psabi;\
$<$<BOOL:${GIBBSITE_WERROR}>:-Werror>>")
# A faster linker, where it is.
find_program(GIBBSITE_MOLD mold)
if(GIBBSITE_MOLD AND PROJECT_IS_TOP_LEVEL)
  add_link_options($<$<LINK_LANGUAGE:CXX>:-fuse-ld=mold>)
endif()
if(GIBBSITE_SANITIZE)
  add_compile_options(-fsanitize=${GIBBSITE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${GIBBSITE_SANITIZE})
  # Kernels for SSE4 and what is above: what is below takes clang up to twice as long as these.
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    add_compile_options(-msse4.2 -mpclmul -maes)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_compile_options(-fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/sanitizers-ignore.txt)
    # AddressSanitizer sees every load and store; checking pointers before it as well is a third of clang's time.
    if(GIBBSITE_SANITIZE MATCHES "address")
      add_compile_options(-fno-sanitize=null,alignment,object-size,pointer-overflow)
    endif()
  endif()
endif()

# gibbsite_module(NAME LINK lib...): host/NAME/**.cpp
function(gibbsite_module name)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/host/${name}/*.cpp)
  add_library(gibbsite_${name} STATIC ${sources})
  add_library(gibbsite::${name} ALIAS gibbsite_${name})
  target_include_directories(gibbsite_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                             $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
                             PRIVATE ${PROJECT_SOURCE_DIR}/host ${PROJECT_SOURCE_DIR})
  target_compile_features(gibbsite_${name} PUBLIC cxx_std_20)
  target_link_libraries(gibbsite_${name} PUBLIC ${arg_LINK} PRIVATE $<BUILD_INTERFACE:gibbsite_flags>)
  if(GIBBSITE_FUZZ AND name MATCHES "^(core|model|privacy|mechanism|certificate|machine)$")  # what harnesses follow
    target_compile_options(gibbsite_${name} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  set_property(TARGET gibbsite_${name} PROPERTY EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY gibbsite_modules ${name})
endfunction()

# gibbsite_text(MODULE NAME FILE): the file as a constant of that module, gibbsite::NAME.
function(gibbsite_text module name file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  configure_file(cmake/text.cpp.in ${PROJECT_BINARY_DIR}/text/${name}.cpp @ONLY)
  target_sources(gibbsite_${module} PRIVATE ${PROJECT_BINARY_DIR}/text/${name}.cpp)
endfunction()

# What every source of a test is compiled with. A release's tests at -O1: a third less of a compiler's time,
# while what they call stays optimized. OPTIMIZED: where the time is in the test's own loops.
function(gibbsite_test_flags target)
  cmake_parse_arguments(arg "OPTIMIZED" "" "LINK;DEFINE" ${ARGN})
  target_link_libraries(${target} PRIVATE ${arg_LINK} gibbsite_flags GTest::gmock)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/host
                             ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${target} PRIVATE
    GIBBSITE_SHARED_DIR="${PROJECT_SOURCE_DIR}/../shared"
    GIBBSITE_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    GIBBSITE_CLI="$<TARGET_FILE:gibbsite_cli>"
    ${arg_DEFINE})
  if(NOT arg_OPTIMIZED)
    target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
  endif()
  if(GIBBSITE_SANITIZE)  # tests that cost much run less of the same; a compiler's time is in their own code
    target_compile_definitions(${target} PRIVATE GIBBSITE_SANITIZED)
    if(NOT arg_OPTIMIZED)
      target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O0>)
    endif()
  endif()
endfunction()

# gibbsite_modules_of(LIBRARY OUT): the library and the modules that it links, directly or not.
function(gibbsite_modules_of library out)
  set(all)
  set(left ${library})
  while(left)
    list(POP_FRONT left next)
    if(NOT TARGET ${next} OR next IN_LIST all)
      continue()
    endif()
    get_target_property(aliased ${next} ALIASED_TARGET)
    if(aliased)
      list(PREPEND left ${aliased})
      continue()
    endif()
    if(NOT next MATCHES "^gibbsite")
      continue()
    endif()
    list(APPEND all ${next})
    get_target_property(links ${next} INTERFACE_LINK_LIBRARIES)
    if(links)
      list(APPEND left ${links})
    endif()
  endwhile()
  set(${out} ${all} PARENT_SCOPE)
endfunction()

# gibbsite_modules_first(TARGET LIBRARY...): where several objects hold one inline function, mold keeps the first. Archives
# of modules come before the target's own objects, which are compiled at -O0 or -O1, and optimized modules before others.
# GNU ld takes nothing from an archive before it is needed, and so keeps the target's copy.
function(gibbsite_modules_first target)
  set(fast)
  set(others)
  foreach(library IN LISTS ARGN)
    gibbsite_modules_of(${library} modules)
    foreach(module IN LISTS modules)
      get_target_property(type ${module} TYPE)
      get_target_property(options ${module} COMPILE_OPTIONS)
      if(NOT type STREQUAL "STATIC_LIBRARY")
        continue()
      elseif(options MATCHES "-O[01]")
        list(APPEND others $<TARGET_FILE:${module}>)
      else()
        list(APPEND fast $<TARGET_FILE:${module}>)
      endif()
    endforeach()
  endforeach()
  target_link_options(${target} PRIVATE ${fast} ${others})
endfunction()

# gibbsite_test(NAME [NEEDS_GPU] [OPTIMIZED] SOURCES ... [LINK ...]): one GoogleTest program, one ctest per
# case; one in all for what needs a GPU, so that a machine without one says so in one line. With sanitizers, and for
# modules above the engine (cuBLAS takes 0.1 s to load), four for each program, each a quarter of its cases: a process of
# its own for each costs more than most cases.
function(gibbsite_test name)
  cmake_parse_arguments(arg "NEEDS_GPU;OPTIMIZED" "" "SOURCES;LINK" ${ARGN})
  add_executable(test_${name} ${arg_SOURCES})
  set(optimized "")
  if(arg_OPTIMIZED)
    set(optimized OPTIMIZED)
  endif()
  gibbsite_test_flags(test_${name} ${optimized} LINK ${arg_LINK} GTest::gtest_main)
  gibbsite_modules_first(test_${name} ${arg_LINK})
  if(arg_NEEDS_GPU)
    add_test(NAME ${name} COMMAND test_${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT 900 SKIP_REGULAR_EXPRESSION "no GPU")
    return()
  endif()
  set(cost 0)  # a fresh clone knows no times: the long ones first, so that no core is left with one at the end
  if(name MATCHES "statistical|backend_|kernels_")
    set(cost 10)
  elseif(name MATCHES "^(run|cli|mechanism|privacy|data)$")
    set(cost 5)
  endif()
  if(GIBBSITE_SANITIZE OR name MATCHES "^(engine|chains|run|posterior|backend_.*|kernels_.*)$")
    set(shards 4)
    if(GIBBSITE_SANITIZE AND name MATCHES "_emulated$")
      set(shards 7)  # of which four are run: more than half of the cases, of each list; a release runs all
    endif()
    foreach(shard RANGE 3)
      add_test(NAME ${name}_${shard} COMMAND test_${name})
      set_tests_properties(${name}_${shard} PROPERTIES TIMEOUT 1200 COST ${cost} ENVIRONMENT
                           "OMP_WAIT_POLICY=PASSIVE;GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard}")
    endforeach()
    return()
  endif()
  gtest_discover_tests(test_${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600 COST ${cost}
                       ENVIRONMENT OMP_WAIT_POLICY=PASSIVE)
endfunction()

# One source, compiled once, and one program for each of `variants`; and one for "cuda" where nvcc is, which
# skips without a GPU. DEFINITION is the program's variant, a string that is linked to it (support/backend.hpp).
function(gibbsite_test_variants name definition variants)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  list(APPEND arg_LINK gibbsite_emulator)
  add_library(${name}_cases OBJECT ${arg_SOURCES})
  gibbsite_test_flags(${name}_cases LINK ${arg_LINK} DEFINE ${definition}=::gibbsite::support::test_variant)
  if(GIBBSITE_HAS_CUDA)
    list(APPEND variants cuda)
  endif()
  foreach(variant IN LISTS variants)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}_${variant}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "#include \"support/backend.hpp\"\n
const char* const gibbsite::support::test_variant = \"${variant}\";\n")
    set(gpu "")
    if(variant STREQUAL "cuda")
      set(gpu NEEDS_GPU)
    endif()
    gibbsite_test(${name}_${variant} ${gpu} SOURCES ${source} $<TARGET_OBJECTS:${name}_cases> LINK ${arg_LINK})
  endforeach()
endfunction()

# x_reference, x_cpu, x_emulated (the cuda engine on a card in software), x_cuda.
function(add_backend_test name)
  gibbsite_test_variants(${name} GIBBSITE_TEST_BACKEND "reference;cpu;emulated" ${ARGN})
endfunction()

# Tests of kernels: x_emulated, x_cuda.
function(add_device_test name)
  gibbsite_test_variants(${name} GIBBSITE_TEST_DEVICE emulated ${ARGN})
endfunction()
