# The slow headers that most files include, parsed once for all modules and once for all tests. No
# file may lean on them: the target `headers` and the presets `tidy` and `fuzz` compile without.

set(STOKER_SLOW_HEADERS <algorithm> <filesystem> <functional> <memory> <optional> <string> <vector>
    <absl/status/statusor.h> <fmt/format.h> <nlohmann/json.hpp>)
set(STOKER_SLOW_LIBRARIES absl::status absl::statusor fmt::fmt spdlog::spdlog
    nlohmann_json::nlohmann_json)

# A target that is nothing but precompiled headers: stoker_precompile(T HEADERS h... LIBS l...).
function(stoker_precompile target)
  cmake_parse_arguments(ARG "" "" "HEADERS;LIBS" ${ARGN})
  set(source "${CMAKE_BINARY_DIR}/${target}.cc")
  file(CONFIGURE OUTPUT "${source}" CONTENT "")
  add_library(${target} OBJECT "${source}")
  target_link_libraries(${target} PRIVATE stoker_flags ${ARG_LIBS})
  target_precompile_headers(${target} PRIVATE ${ARG_HEADERS})
endfunction()

stoker_precompile(stoker_pch HEADERS ${STOKER_SLOW_HEADERS} LIBS ${STOKER_SLOW_LIBRARIES})
if(STOKER_BUILD_TESTS)
  # What tests call is optimised; the tests themselves need no more than to compile quickly.
  set(STOKER_TEST_OPTIMISATION -O1)
  stoker_precompile(stoker_test_pch
    HEADERS ${STOKER_SLOW_HEADERS} <gtest/gtest.h> <gmock/gmock.h>
    LIBS ${STOKER_SLOW_LIBRARIES} GTest::gtest GTest::gmock)
  target_compile_options(stoker_test_pch PRIVATE ${STOKER_TEST_OPTIMISATION})
endif()
