// The device of tensors for which the program names none, as torch.set_default_device sets it, but
// without a Python mode: in every thread, and at the cost of a native call. Not the redirection of
// mode `full`, which also moves what was asked for on the CPU.
#pragma once

#include <Python.h>
#include <c10/core/Device.h>

#include <vector>

#include "runtime/export.h"

namespace compat::shim {

// From here on, in every thread. `functions`: C functions of torch whose result is on their data's
// device unless the keyword `device` names another. `stays`: whether the calling line's tensors
// stay on the host; called with the GIL held. Once for each process, with the GIL held. False: no
// library of this torch imports torch::tensors::get_default_device, and nothing was changed.
[[nodiscard]] COMPAT_EXPORT bool set_default_device(c10::DeviceType type,
                                                    std::vector<PyObject*> functions,
                                                    bool (*stays)());

}  // namespace compat::shim
