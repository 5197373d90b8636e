// Python's functions for shared storages (shared_storage.h).
#pragma once

#include <pybind11/pybind11.h>

namespace compat::shim::simulate {

void add_sharing(pybind11::module_& module);

}  // namespace compat::shim::simulate
