// The part of the module _compat_shim that simulates an accelerator.
#pragma once

#include <pybind11/pybind11.h>

namespace compat::shim {

void bind_simulation(pybind11::module_& module);

}  // namespace compat::shim
