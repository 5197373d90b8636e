// "cpu:-1": turns the CPU override on and off, wherever a program may name a device.
//
// torch's parser refuses the string. The constructor of c10::Device from a string is replaced. For
// this string it returns a device that no other string gives (`is_toggle`). Kernels that see this
// device toggle the override. C types that call no kernel (torch.device, torch.Generator) toggle it
// when the object is made; the object has a plain CPU.
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

// Whether a toggle is the first within the user's current call: `model.to("cpu:-1")` asks once for
// each parameter. From any thread, with or without the GIL.
[[nodiscard]] bool first_toggle_of_call() noexcept;

// Whether the call that toggled still runs on this thread; its requests for the CPU get the CPU.
// Its frame and locals are kept alive until this function finds that it returned. Without such a
// call this costs one load.
[[nodiscard]] bool toggling_call_runs() noexcept;

// Replacements for torch's device parser, and for the printer whose output it parses.
[[nodiscard]] std::array<Import, 2> override_imports();

// Call once, with the GIL held. `types` are torch's C types that take a device and call no kernel
// when they are made (torch.device, torch.Generator). `functions` are C functions that ask for one
// device several times (sparse_coo_tensor: for indices and for values).
void install_override(const std::vector<PyObject*>& types, std::vector<PyObject*> functions);

}  // namespace compat::shim
