// "cpu:-1": the request that turns the CPU override on and off, wherever a device may be written.
//
// torch's own parser refuses the string. Its constructor of c10::Device from a string is replaced
// by one that answers it with a device no other string gives (`is_toggle`); the kernels that see
// that device toggle. What the parser is asked for by C types that call no kernel (torch.device,
// torch.Generator) toggles as the object is made, and the object is of a plain CPU.
//
// Not here: what the override means for a request (policy/), and whether it is on (state.cc).
#pragma once

#include <Python.h>
#include <c10/core/Device.h>

#include <array>
#include <vector>

#include "redirect/imports.h"

namespace compat::shim {

[[nodiscard]] bool is_toggle(c10::Device device) noexcept;

// Whether a request to toggle is the first in the call that the user's running line has made:
// `model.to("cpu:-1")` asks once for each parameter. From any thread, with or without the GIL.
[[nodiscard]] bool first_toggle_of_call() noexcept;

// Whether that call is running, on this thread: what it asks of the CPU it shall have. Its frame is
// held meanwhile, and its locals with it, until this finds that it has returned. Costs one load
// where there is none.
[[nodiscard]] bool toggling_call_runs() noexcept;

// torch's parser of devices, and the printer whose words it reads again.
[[nodiscard]] std::array<Import, 2> override_imports();

// With the GIL held, once. `types` are torch's C types that are made for a device and call no
// kernel as they are made (torch.device, torch.Generator); `functions` its C functions that ask for
// one device several times (sparse_coo_tensor: for indices and for values).
void install_override(const std::vector<PyObject*>& types, std::vector<PyObject*> functions);

}  // namespace compat::shim
