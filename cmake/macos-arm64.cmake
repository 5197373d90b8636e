# Toolchain file: compiles for macOS on arm64 with the compiler of the Python package ziglang, which
# has the C library's headers and the names in libSystem. Serves the runner and the shim:
#
#   cmake --preset macos-cross                                        (the runner)
#   cmake -S shim -B BUILD --toolchain cmake/macos-arm64.cmake …      (the shim)
#
# COMPAT_ZIG            the program zig; default: that of the first Python below that has ziglang
# COMPAT_ZIG_PYTHON     the Python to ask for it first
# COMPAT_MACOS_SYSROOT  where headers and libraries for macOS are installed; tests/cross/macos.sh
#                       fills it
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR arm64)
set(CMAKE_SYSTEM_VERSION 23.0.0)  # the kernel of macOS 14
set(COMPAT_MACOS_TARGET aarch64-macos.14.0)

# try_compile reads this file again, without the cache.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES COMPAT_ZIG COMPAT_ZIG_PYTHON COMPAT_MACOS_SYSROOT)
foreach(name COMPAT_ZIG COMPAT_ZIG_PYTHON COMPAT_MACOS_SYSROOT)
  if(NOT ${name} AND DEFINED ENV{${name}})
    set(${name} $ENV{${name}})
  endif()
endforeach()
get_filename_component(tree ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
if(NOT COMPAT_MACOS_SYSROOT)
  set(COMPAT_MACOS_SYSROOT ${tree}/build/macos/sysroot)
endif()
if(NOT COMPAT_ZIG)
  foreach(python ${COMPAT_ZIG_PYTHON} ${tree}/build/macos/python/bin/python ${tree}/.venv/bin/python python3)
    execute_process(
      COMMAND ${python} -c "import os, ziglang; print(os.path.join(os.path.dirname(ziglang.__file__), 'zig'))"
      OUTPUT_VARIABLE COMPAT_ZIG OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE lacks_zig)
    if(lacks_zig EQUAL 0)
      break()
    endif()
    unset(COMPAT_ZIG)
  endforeach()
  if(NOT COMPAT_ZIG)
    message(FATAL_ERROR "no Python has ziglang: set COMPAT_ZIG_PYTHON to one that has, or COMPAT_ZIG to the program zig")
  endif()
endif()

# CMake takes one path for each of these tools, so that each gets a script. A script that has not
# changed is not written again: ccache knows a compiler by its time.
set(tools ${CMAKE_BINARY_DIR}/zig)
function(compat_zig_tool name arguments)
  set(text "#!/bin/sh\nexec \"${COMPAT_ZIG}\" ${arguments} \"$@\"\n")
  if(EXISTS ${tools}/${name})
    file(READ ${tools}/${name} before)
  endif()
  if(NOT before STREQUAL text)
    file(WRITE ${tools}/${name} "${text}")
    file(CHMOD ${tools}/${name} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  endif()
endfunction()
compat_zig_tool(cc "cc -target ${COMPAT_MACOS_TARGET}")
compat_zig_tool(c++ "c++ -target ${COMPAT_MACOS_TARGET}")
compat_zig_tool(ar ar)
compat_zig_tool(ranlib ranlib)
set(CMAKE_C_COMPILER ${tools}/cc)
set(CMAKE_CXX_COMPILER ${tools}/c++)
set(CMAKE_AR ${tools}/ar CACHE FILEPATH "" FORCE)
set(CMAKE_RANLIB ${tools}/ranlib CACHE FILEPATH "" FORCE)
set(CMAKE_C_COMPILER_AR ${tools}/ar)
set(CMAKE_CXX_COMPILER_AR ${tools}/ar)
set(CMAKE_C_COMPILER_RANLIB ${tools}/ranlib)
set(CMAKE_CXX_COMPILER_RANLIB ${tools}/ranlib)
# Run paths are written when a file is linked: nothing needs this tool, but CMake asks for it.
set(CMAKE_INSTALL_NAME_TOOL true)
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
# zig has the system's headers and libraries.
set(CMAKE_OSX_SYSROOT "")
set(CMAKE_OSX_DEPLOYMENT_TARGET "")

set(CMAKE_FIND_ROOT_PATH ${COMPAT_MACOS_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_FIND_FRAMEWORK NEVER)
set(CMAKE_FIND_APPBUNDLE NEVER)
set(ENV{PKG_CONFIG_LIBDIR} ${COMPAT_MACOS_SYSROOT}/lib/pkgconfig)
set(ENV{PKG_CONFIG_PATH} "")
