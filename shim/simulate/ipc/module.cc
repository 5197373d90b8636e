#include "simulate/ipc/module.h"

#include <pybind11/stl.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>

#include <chrono>
#include <string>
#include <thread>

#include "simulate/ipc/shared_storage.h"

namespace py = pybind11;

namespace compat::shim::simulate {
namespace {

// (handle, offset, counter), or None without memory. Releases the GIL while it waits for kernels,
// because a kernel may wait for the GIL.
py::object share_storage(const at::Tensor& tensor) {
    constexpr std::chrono::microseconds kPause(50);
    if (!has_memory(tensor)) return py::none();
    while (true) {
        if (const auto memory = try_share(tensor))
            return py::make_tuple(py::bytes(memory->handle), memory->offset, memory->counter);
        const py::gil_scoped_release released;
        std::this_thread::sleep_for(kPause);
    }
}

at::Tensor open_storage(int device, const std::string& handle, std::size_t bytes,
                        std::size_t offset, std::size_t counter) {
    return open_shared(device, bytes, {handle, offset, counter});
}

}  // namespace

void add_sharing(py::module_& module) {
    module.def("share_storage", torch::wrap_pybind_function(&share_storage), py::arg("tensor"));
    module.def("open_storage", torch::wrap_pybind_function(&open_storage), py::arg("device"),
               py::arg("handle"), py::arg("bytes"), py::arg("offset"), py::arg("counter"));
    module.def("release_holder", torch::wrap_pybind_function(&release_holder), py::arg("handle"),
               py::arg("counter"));
    module.def("collect_sent", &collect_sent);
}

}  // namespace compat::shim::simulate
