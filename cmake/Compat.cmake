# Helpers that every folder uses: one static library a folder, one test helper, precompiled headers.

# Warnings: linked PRIVATE, so that they reach our files and nobody else's. Without them in a release, whose
# build nobody reads: they take a sixth of its time.
add_library(compat_warnings INTERFACE)
if(NOT CMAKE_BUILD_TYPE STREQUAL Release)
  target_compile_options(compat_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
                                                   -Wold-style-cast -Wimplicit-fallthrough)
endif()

# compat_precompiled(NAME LIBS …): cmake/precompiled/NAME.h, parsed once for the targets of
# compat_precompile(TARGET NAME), which have the same options. It changes only how long a build takes: each
# source includes what it uses. Not with ccache: its objects would serve one clone only.
function(compat_precompiled name)
  cmake_parse_arguments(ARG "" "" "LIBS" ${ARGN})
  if(CCACHE OR CMAKE_CROSSCOMPILING)
    return()
  endif()
  set(source ${CMAKE_BINARY_DIR}/generated/${name}.cc)  # CMake wants one
  file(CONFIGURE OUTPUT ${source} CONTENT "")
  add_library(compat_precompiled_${name} OBJECT ${source})
  target_include_directories(compat_precompiled_${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(compat_precompiled_${name} PUBLIC ${ARG_LIBS} Threads::Threads PRIVATE compat_warnings)
  target_precompile_headers(compat_precompiled_${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/precompiled/${name}.h)
endfunction()
function(compat_precompile target name)
  if(TARGET compat_precompiled_${name})
    target_precompile_headers(${target} REUSE_FROM compat_precompiled_${name})
  endif()
endfunction()

# compat_library(NAME SOURCES … LIBS …): static library compat_NAME, alias compat::NAME.
# The release preset compiles its sources in batches (unity build), which parses each header once
# a batch: names in anonymous namespaces are therefore unique within a library.
# LIBS are the arrows of the house: only what docs/ARCHITECTURE.md draws.
function(compat_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  if(ARG_SOURCES)
    add_library(compat_${name} STATIC ${ARG_SOURCES})
    target_include_directories(compat_${name} PUBLIC ${CMAKE_SOURCE_DIR})
    target_link_libraries(compat_${name} PUBLIC ${ARG_LIBS} Threads::Threads PRIVATE compat_warnings)
    compat_precompile(compat_${name} library)
  else()
    add_library(compat_${name} INTERFACE)
    target_include_directories(compat_${name} INTERFACE ${CMAKE_SOURCE_DIR})
    target_link_libraries(compat_${name} INTERFACE ${ARG_LIBS})
  endif()
  add_library(compat::${name} ALIAS compat_${name})
endfunction()

# compat_test(NAME SOURCES … LIBS … LABELS … [SHARDS N]): one GoogleTest program, and a ctest of its name.
# SHARDS: for a program that mostly waits; ctest starts it so often at once, each with a part of its cases.
# Compiled in batches as a library is: names in anonymous namespaces are unique within a program.
function(compat_test name)
  cmake_parse_arguments(ARG "" "SHARDS" "SOURCES;LIBS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} GTest::gmock GTest::gtest_main Threads::Threads compat_warnings)
  compat_precompile(${name} tests)
  if(NOT ARG_SHARDS)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 600)
    return()
  endif()
  foreach(shard RANGE 1 ${ARG_SHARDS})
    math(EXPR index "${shard} - 1")
    add_test(NAME ${name}_${shard} COMMAND ${name})
    set_tests_properties(${name}_${shard} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 600 COST 1000
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()
