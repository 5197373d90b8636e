// "cpu:-1": the request that turns the CPU override on and off, wherever a device may be written.
//
// torch's parser refuses the string. The constructor of c10::Device from a string is replaced by
// one that returns a device no other string gives (`is_toggle`). Kernels that see this device
// toggle. C types that call no kernel (torch.device, torch.Generator) toggle when the object is
// made, and the object has a plain CPU.
//
// Not here: what the override means for a request (policy/), and whether it is on (state.cc).
#pragma once

#include <Python.h>
#include <c10/core/Device.h>

#include <array>
#include <vector>

#include "runtime/imports.h"

namespace compat::shim {

[[nodiscard]] bool is_toggle(c10::Device device) noexcept;

// Whether a toggle is the first in the call that the user's current line made: `model.to("cpu:-1")`
// asks once for each parameter. From any thread, with or without the GIL.
[[nodiscard]] bool first_toggle_of_call() noexcept;

// Whether that call still runs on this thread; its requests for the CPU get the CPU. Its frame and
// locals are kept alive until this function finds that it returned. Without such a call it costs
// one load.
[[nodiscard]] bool toggling_call_runs() noexcept;

// Replacements for torch's device parser, and for the printer whose output it parses.
[[nodiscard]] std::array<Import, 2> override_imports();

// With the GIL held, once. `types` are torch's C types that take a device and call no kernel when
// they are made (torch.device, torch.Generator). `functions` are C functions that ask for one
// device several times (sparse_coo_tensor: for indices and for values).
void install_override(const std::vector<PyObject*>& types, std::vector<PyObject*> functions);

}  // namespace compat::shim
