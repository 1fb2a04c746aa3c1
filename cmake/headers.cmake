# The target `headers` compiles headers alone, so that each can be included anywhere. A header whose
# own source includes it first (tools/check_layers.py sees to that) is proved by that source; a
# *-inl.h is a part of the files that include it.

file(GLOB_RECURSE headers RELATIVE "${CMAKE_SOURCE_DIR}/src" CONFIGURE_DEPENDS
     "${CMAKE_SOURCE_DIR}/src/*.h")
set(sources "")
foreach(header IN LISTS headers)
  string(REGEX REPLACE "\\.h$" ".cc" own_source "${header}")
  if(header MATCHES "-inl\\.h$" OR EXISTS "${CMAKE_SOURCE_DIR}/src/${own_source}")
    continue()
  endif()
  set(source "${CMAKE_BINARY_DIR}/headers/${own_source}")
  file(CONFIGURE OUTPUT "${source}" CONTENT "#include \"${header}\"\n")
  list(APPEND sources "${source}")
endforeach()
if(sources)
  add_library(headers OBJECT EXCLUDE_FROM_ALL ${sources})
  target_compile_options(headers PRIVATE -O0)
  foreach(module IN LISTS STOKER_MODULES)
    target_link_libraries(headers PRIVATE stoker_${module})
  endforeach()
else()
  add_custom_target(headers)
endif()
