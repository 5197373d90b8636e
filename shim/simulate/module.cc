// The Python module _compat_simulate: a simulated accelerator.
#include "simulate/ipc/module.h"

#include <ATen/ATen.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/Generator.h>
#include <torch/csrc/utils/device_lazy_init.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "runtime/streams.h"
#include "simulate/accelerator.h"
#include "simulate/generator.h"
#include "simulate/kernel.h"
#include "simulate/kernels/assertions.h"
#include "simulate/kernels/attention_choice.h"
#include "simulate/kernels/capability.h"
#include "simulate/memory.h"
#include "simulate/mps.h"
#include "simulate/note.h"
#include "simulate/trace/blocks.h"

namespace py = pybind11;

namespace compat::shim::simulate {
namespace {

// Autograd's threads release their Python objects after the program has its results. A thread that
// waits for the GIL while Python ends crashes the process. So this sends work through each thread
// and waits until it is done. In a forked process, which may have no such threads, torch raises.
void wait_for_autograd() {
    if (!is_used()) return;
    for (int i = 0; i < device_count(); ++i) {
        // Every device has this dtype; the program's default may be another.
        set_device_limit(i, kNoLimit);  // the program may have filled it
        const auto options = at::dtype(at::kFloat).device(accelerator().device(i));
        try {
            at::ones({1}, options).requires_grad_().sum().backward();
        } catch (const c10::Error&) {
            return;
        }
    }
}

py::list default_generators() {
    static auto* kept = new std::vector<PyObject*>();
    for (int i = static_cast<int>(kept->size()); i < device_count(); ++i)
        kept->push_back(THPGenerator_initDefaultGenerator(default_generator(i)));
    py::list generators;
    for (PyObject* each : *kept) generators.append(py::reinterpret_borrow<py::object>(each));
    return generators;
}

// Resizes the storage of `tensor`, as at::native::resize_bytes_cuda, which a CPU build lacks.
void resize_storage(const at::Tensor& tensor, std::int64_t bytes) {
    c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
    TORCH_CHECK(storage->resizable(), "Trying to resize storage that is not resizable");
    const DeviceScope scope(tensor.device());
    const AddressesInUse addresses;
    const auto wanted = static_cast<std::size_t>(bytes);
    c10::DataPtr memory = allocator().allocate(wanted);
    if (const std::size_t kept = std::min(wanted, storage->nbytes()); kept > 0)
        std::memcpy(memory.get(), storage->data(), kept);
    storage->set_data_ptr_noswap(std::move(memory));
    storage->set_nbytes(wanted);
}

}  // namespace

PYBIND11_MODULE(_compat_simulate, module) {
    module.def(
        "simulate_mps",
        [](bool fallback, std::string commit, unsigned macos_major, unsigned macos_minor,
           std::int64_t memory) {
            set_mps_answers({fallback, std::move(commit), macos_major, macos_minor, memory});
            install(mps(), 1);
        },
        py::arg("fallback"), py::arg("commit"), py::arg("macos_major"), py::arg("macos_minor"),
        py::arg("memory"));
    module.def(
        "simulate_cuda",
        [](int devices, int major, int minor) {
            set_capability(10 * major + minor);
            install(cuda(), devices);
        },
        py::arg("devices"), py::arg("major"), py::arg("minor"));
    // `kernel`: a value of torch.nn.attention.SDPBackend.
    module.def(
        "can_use_attention",
        [](int kernel, const sdp::sdp_params& call, bool debug) {
            return can_use_attention(static_cast<sdp::SDPBackend>(kernel), call, debug);
        },
        py::arg("kernel"), py::arg("call"), py::arg("debug"));
    module.def("keep_going", &keep_going);
    module.def("simulated", []() -> py::object {
        if (!installed()) return py::none();
        return py::str(c10::DeviceTypeName(installed()->type(), true));
    });
    // By device type; empty if none is simulated.
    module.def("take_kernel_counts", [] {
        py::dict counts;
        if (installed())
            counts[c10::DeviceTypeName(installed()->type(), true).c_str()] = take_kernel_count();
        return counts;
    });
    module.def("is_lost", &is_lost);
    module.def("wait_for_autograd", &wait_for_autograd, py::call_guard<py::gil_scoped_release>());

    module.def("device_count", &device_count);
    module.def("current_device", &current_device);
    module.def("exchange_device", torch::wrap_pybind_function(&exchange_device), py::arg("index"));
    module.def("check_index", torch::wrap_pybind_function(&check_index), py::arg("index"));
    module.def("check_not_lost", torch::wrap_pybind_function(&check_not_lost));
    module.def("default_generators", &default_generators);
    module.def(
        "current_stream", [](int device) { return current_stream(accelerator().device(device)); },
        py::arg("device"));
    module.def(
        "exchange_stream",
        [](int device, c10::StreamId stream) {
            return exchange_stream(accelerator().device(device), stream);
        },
        py::arg("device"), py::arg("stream"));
    module.def("synchronize_device",
               torch::wrap_pybind_function([] { synchronize_device(current_device()); }));
    // As TracedBlock; None outside all blocks.
    module.def(
        "traced_block",
        [](std::uintptr_t address) -> py::object {
            const auto block = traced_block(address);
            if (!block) return py::none();
            return py::make_tuple(block->begin, block->is_recycled, block->recorded);
        },
        py::arg("address"));
    module.def("resize_storage", torch::wrap_pybind_function(&resize_storage), py::arg("tensor"),
               py::arg("bytes"));
    module.def("needs_init_again",
               [] { torch::utils::set_requires_device_init(accelerator().type(), true); });

    module.def(
        "device_memory",
        [](int device) {
            check_index(device);
            const DeviceFigures figures = device_figures(device);
            return py::make_tuple(figures.bytes, figures.blocks, figures.limit);
        },
        py::arg("device"));
#ifdef __linux__
    add_sharing(module);
#endif
    module.def(
        "has_context",
        [](int device) {
            TORCH_CHECK(
                device >= 0 && device < device_count(),
                "hasPrimaryContext expects a valid device index, but got device_index=", device);
            return has_context(device);
        },
        py::arg("device"));
    module.def("make_context", &make_context, py::arg("device"));
    module.def("reset_device_peak", &reset_device_peak, py::arg("device"));
    module.def("reset_device_accumulated", &reset_device_accumulated, py::arg("device"));
    module.def("set_device_limit", &set_device_limit, py::arg("device"), py::arg("bytes"));
}

}  // namespace compat::shim::simulate
