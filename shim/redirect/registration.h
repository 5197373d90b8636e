// Registers the kernels in torch's dispatcher, once, for the life of the process.
#pragma once

#include <string>

namespace compat::shim {

struct Registered {
    int mode = 0;            // ops with a kernel under GenericMode
    int backend_select = 0;  // ops with a kernel under BackendSelect
};

// Idempotent: a second call returns the first one's result. Call with the GIL held.
Registered register_kernels();

// Whether this thread's requests pass the GenericMode kernels. Children of a fork inherit it;
// threads do not.
void include_this_thread(bool included);
[[nodiscard]] bool this_thread_included();

}  // namespace compat::shim
