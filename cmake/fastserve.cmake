# What every target of the project shares. Nothing here reaches a user of the library.

set(CMAKE_POSITION_INDEPENDENT_CODE ON)

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
  endif()
  if(FASTSERVE_LTO)
    set_property(TARGET ${target} PROPERTY INTERPROCEDURAL_OPTIMIZATION ON)
  endif()
endfunction()

# fastserve_layer(name SOURCES a.cpp ... DEPENDS fastserve::x ...): the static library of one layer, with its alias
# fastserve::name and its headers under include/.
function(fastserve_layer name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(fastserve_${name} STATIC ${arg_SOURCES})
  add_library(fastserve::${name} ALIAS fastserve_${name})
  set_target_properties(fastserve_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(fastserve_${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
                                                      $<INSTALL_INTERFACE:include>)
  target_link_libraries(fastserve_${name} PUBLIC ${arg_DEPENDS})
  fastserve_private_options(fastserve_${name})
endfunction()

# fastserve_test(name SOURCES a.cpp ... DEPENDS fastserve::x ...): a GoogleTest binary, registered with CTest as one test.
function(fastserve_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;DEPENDS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  find_package(GTest REQUIRED)
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} GTest::gtest GTest::gtest_main)
  fastserve_private_options(${name})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT})
endfunction()

# fastserve_microbench(name SOURCES a.cpp ... DEPENDS fastserve::x ...): a Google Benchmark binary that also runs once,
# briefly, as a smoke test.
function(fastserve_microbench name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  find_package(benchmark REQUIRED)
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} benchmark::benchmark benchmark::benchmark_main)
  fastserve_private_options(${name})
  add_test(NAME ${name}_smoke COMMAND ${name} --benchmark_min_time=0.001)
  set_tests_properties(${name}_smoke PROPERTIES TIMEOUT 120)
endfunction()
