# Helpers that keep every module's build file to one line.
#
#   stoker_module(text LIBS PkgConfig::pcre2)   library stoker_text from src/text/**.cc
#
# A module's own dependencies come from src/layers.txt, so that a link which the design does not
# allow cannot be written by accident. Tests in tests/<module>/*_test.cc become one program a module.

file(STRINGS "${CMAKE_SOURCE_DIR}/src/layers.txt" STOKER_LAYER_LINES REGEX "^[0-9]+ ")
set_property(DIRECTORY "${CMAKE_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             "${CMAKE_SOURCE_DIR}/src/layers.txt")
set(STOKER_MODULES "")
foreach(line IN LISTS STOKER_LAYER_LINES)
  string(REGEX MATCH "^[0-9]+ ([a-z]+): *(.*)$" _ "${line}")
  set(module "${CMAKE_MATCH_1}")
  string(REPLACE " " ";" deps "${CMAKE_MATCH_2}")
  list(APPEND STOKER_MODULES "${module}")
  set(STOKER_DEPS_${module} "${deps}")
endforeach()

add_library(stoker_flags INTERFACE)
target_compile_features(stoker_flags INTERFACE cxx_std_20)
target_include_directories(stoker_flags INTERFACE "${CMAKE_SOURCE_DIR}/src")
target_compile_options(stoker_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wold-style-cast -Wnon-virtual-dtor
  -Woverloaded-virtual -Wimplicit-fallthrough -Wnull-dereference -Wformat=2 -Werror
  -Wno-missing-field-initializers  # designated initialisers leave the rest at their defaults
  -ffp-contract=off)  # results are a contract: product and sum fuse only where the source says so
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # gcc 12 reports these inside the standard library's own inlined code.
  target_compile_options(stoker_flags INTERFACE -Wno-null-dereference -Wno-restrict
                         -Wno-array-bounds -Wno-stringop-overflow)
endif()

function(stoker_module module)
  cmake_parse_arguments(ARG "" "" "LIBS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${module}/*.cc")
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  if(sources)
    add_library(stoker_${module} STATIC ${sources})
    set(scope PUBLIC)
  else()  # headers only
    add_library(stoker_${module} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_link_libraries(stoker_${module} ${scope} stoker_flags ${ARG_LIBS})
  if(sources)
    target_precompile_headers(stoker_${module} REUSE_FROM stoker_pch)
  endif()
  foreach(dep IN LISTS STOKER_DEPS_${module})
    target_link_libraries(stoker_${module} ${scope} stoker_${dep})
  endforeach()
  stoker_module_tests(${module})
endfunction()

function(stoker_module_tests module)
  file(GLOB tests CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/${module}/*_test.cc")
  if(NOT tests OR NOT STOKER_BUILD_TESTS)
    return()
  endif()
  add_executable(${module}_test ${tests})
  target_link_libraries(${module}_test PRIVATE stoker_${module} stoker_test_support)
  target_precompile_headers(${module}_test REUSE_FROM stoker_test_pch)
  target_compile_options(${module}_test PRIVATE ${STOKER_TEST_OPTIMISATION})
  gtest_discover_tests(${module}_test TEST_PREFIX "${module}." DISCOVERY_MODE PRE_TEST
                       PROPERTIES TIMEOUT 300 LABELS unit)
endfunction()

# A libFuzzer target from tests/fuzz/NAME_fuzz.cc: stoker_fuzz(safetensors checkpoint).
function(stoker_fuzz name module)
  add_executable(${name}_fuzz "${CMAKE_SOURCE_DIR}/tests/fuzz/${name}_fuzz.cc")
  target_link_libraries(${name}_fuzz PRIVATE stoker_${module})
  target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer)
endfunction()
