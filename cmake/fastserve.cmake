# What every target of the project shares. Nothing here reaches a user of the library.

set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# A compiler cache where there is one. The two settings let clones in different folders share it.
find_program(FASTSERVE_CCACHE ccache)
if(PROJECT_IS_TOP_LEVEL AND FASTSERVE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${FASTSERVE_CCACHE})
endif()

# Warnings, sanitizers and LTO: PRIVATE to the target that names them.
function(fastserve_private_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wconversion)
  if(FASTSERVE_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(FASTSERVE_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${FASTSERVE_SANITIZE} -fno-omit-frame-pointer
                                             -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${FASTSERVE_SANITIZE})
    if(CMAKE_CXX_COMPILER_ID MATCHES Clang AND FASTSERVE_SANITIZE MATCHES undefined)
      # clang 14 cannot assemble the check of indirect calls in a coroutine.
      target_compile_options(${target} PRIVATE -fno-sanitize=function)
    endif()
  endif()
  if(FASTSERVE_LTO)
    set_property(TARGET ${target} PROPERTY INTERPROCEDURAL_OPTIMIZATION ON)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL STATIC_LIBRARY AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
      # Machine code beside the intermediate one, so that an installed archive also links without this very compiler.
      target_compile_options(${target} PRIVATE -ffat-lto-objects)
    endif()
  endif()
endfunction()

# mimalloc in place of malloc, for executables of ours. The linker must keep it though nothing calls it by name. Under a
# sanitizer the allocator is the sanitizer's.
function(fastserve_use_mimalloc target)
  if(FASTSERVE_MIMALLOC AND NOT FASTSERVE_SANITIZE)
    find_package(mimalloc REQUIRED)
    target_link_options(${target} PRIVATE -Wl,--no-as-needed)
    target_link_libraries(${target} PRIVATE mimalloc)
    target_compile_definitions(${target} PRIVATE FASTSERVE_MIMALLOC)
  endif()
endfunction()

# fastserve_layer(name SOURCES a.cpp ... DEPENDS fastserve::x ...): the static library of one layer, with its alias
# fastserve::name and its headers under include/. Layers are declared from the lowest to the highest.
function(fastserve_layer name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(fastserve_${name} STATIC ${arg_SOURCES})
  add_library(fastserve::${name} ALIAS fastserve_${name})
  set_target_properties(fastserve_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(fastserve_${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
                                                      $<INSTALL_INTERFACE:include>)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/internal)
    target_include_directories(fastserve_${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/internal>)
  endif()
  target_link_libraries(fastserve_${name} PUBLIC ${arg_DEPENDS})
  fastserve_private_options(fastserve_${name})
  set_property(GLOBAL APPEND PROPERTY FASTSERVE_LAYERS ${name})
  set_property(GLOBAL APPEND PROPERTY FASTSERVE_LAYER_DIRS ${CMAKE_CURRENT_SOURCE_DIR})
endfunction()

# fastserve_program(SOURCES a.cpp ... DEPENDS fastserve::x ...): the program, built as bin/fastserve.
function(fastserve_program)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(fastserve_program ${arg_SOURCES})
  set_target_properties(fastserve_program PROPERTIES OUTPUT_NAME fastserve
                                                     RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  target_compile_definitions(fastserve_program PRIVATE FASTSERVE_VERSION="${PROJECT_VERSION}")
  target_link_libraries(fastserve_program PRIVATE ${arg_DEPENDS})
  fastserve_private_options(fastserve_program)
  fastserve_use_mimalloc(fastserve_program)
endfunction()

# fastserve_test(name [SERIAL] [UNSANITIZED] [JOINED] [TIMEOUT seconds] SOURCES a.cpp ... DEPENDS fastserve::x ...): a
# GoogleTest binary, registered with CTest as one test. SERIAL: nothing else runs beside it. UNSANITIZED: it replaces
# malloc, which under a sanitizer is the sanitizer's, so such a build goes without it (a replaced operator new is no
# obstacle).
# JOINED: its sources are compiled four at a time, since most of the time goes into what they include; names that two of
# them have in an unnamed namespace meet. A binary in which no test ran has failed.
function(fastserve_test name)
  cmake_parse_arguments(arg "SERIAL;UNSANITIZED;JOINED" "TIMEOUT" "SOURCES;DEPENDS" ${ARGN})
  if(arg_UNSANITIZED AND FASTSERVE_SANITIZE)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  find_package(GTest REQUIRED)
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} GTest::gtest GTest::gtest_main)
  fastserve_private_options(${name})
  if(arg_JOINED AND NOT FASTSERVE_SANITIZE)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 4)
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
      # It takes what is unnamed in a joined source for a header's.
      target_compile_options(${name} PRIVATE -Wno-subobject-linkage)
    endif()
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} RUN_SERIAL ${arg_SERIAL}
                                          FAIL_REGULAR_EXPRESSION "Running 0 tests")
endfunction()

# fastserve_microbench(name SOURCES a.cpp ... DEPENDS fastserve::x ...): a Google Benchmark binary that also runs once,
# briefly, as a smoke test. The library exits 0 whatever a benchmark reports, hence the expression.
function(fastserve_microbench name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  find_package(benchmark REQUIRED)
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} benchmark::benchmark benchmark::benchmark_main)
  fastserve_private_options(${name})
  fastserve_use_mimalloc(${name})
  add_test(NAME ${name}_smoke COMMAND ${name} --benchmark_min_time=0.001)
  set_tests_properties(${name}_smoke PROPERTIES TIMEOUT 120
                                                FAIL_REGULAR_EXPRESSION "ERROR OCCURRED|Failed to match any")
  set_property(GLOBAL APPEND PROPERTY FASTSERVE_MICROBENCHMARKS ${name})
endfunction()

# Writes microbench/targets.txt, the paths of all microbenchmarks, one a line: what script/microbench runs.
function(fastserve_list_microbenchmarks)
  get_property(names GLOBAL PROPERTY FASTSERVE_MICROBENCHMARKS)
  set(lines "")
  foreach(name IN LISTS names)
    string(APPEND lines "$<TARGET_FILE:${name}>\n")
  endforeach()
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/microbench/targets.txt CONTENT "${lines}")
endfunction()

# fastserve_fuzz(name [BRIEF] SOURCES a.cpp ... DEPENDS fastserve::x ... CORPUS dir [DICTIONARY file]): a fuzz target.
# Where FASTSERVE_FUZZ is on, a libFuzzer binary and the test NAME_smoke: the corpus, then FASTSERVE_FUZZ_SECONDS of inputs
# that grow from it, half of that for one that is BRIEF, from a seed that it prints; an input that finds something is left
# beside the binary. Elsewhere the test NAME_replay, which runs the corpus.
function(fastserve_fuzz name)
  cmake_parse_arguments(arg "BRIEF" "CORPUS;DICTIONARY" "SOURCES;DEPENDS" ${ARGN})
  cmake_path(ABSOLUTE_PATH arg_CORPUS)
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS})
  fastserve_private_options(${name})
  if(NOT FASTSERVE_FUZZ)
    target_link_libraries(${name} PRIVATE fastserve_fuzz_replay)
    add_test(NAME ${name}_replay COMMAND ${name} ${arg_CORPUS})
    set_tests_properties(${name}_replay PROPERTIES TIMEOUT 120)
    return()
  endif()
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set(seconds ${FASTSERVE_FUZZ_SECONDS})
  if(arg_BRIEF)
    math(EXPR seconds "(${seconds} + 1) / 2")
  endif()
  set(options -max_total_time=${seconds} -timeout=10 -rss_limit_mb=2048 -print_final_stats=1
              -artifact_prefix=${CMAKE_CURRENT_BINARY_DIR}/${name}.)
  if(arg_DICTIONARY)
    cmake_path(ABSOLUTE_PATH arg_DICTIONARY)
    list(APPEND options -dict=${arg_DICTIONARY})
  endif()
  # New inputs that reach new code go into the first folder, so that is one of the build and not the corpus.
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${name}.grown)
  add_test(NAME ${name}_smoke
           COMMAND ${name} ${options} ${CMAKE_CURRENT_BINARY_DIR}/${name}.grown ${arg_CORPUS})
  set_tests_properties(${name}_smoke PROPERTIES TIMEOUT 300)
endfunction()
