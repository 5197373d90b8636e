# Read by CMake after its own rules for Darwin: a module is linked as a shared library, since zig
# links no bundles. dlopen and Python's import take either.
foreach(language C CXX)
  set(CMAKE_SHARED_MODULE_CREATE_${language}_FLAGS "-dynamiclib -Wl,-headerpad_max_install_names")
endforeach()
