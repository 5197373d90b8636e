// The Python module _compat_redirect: redirection of requests. It decides nothing.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/Generator.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "redirect/accelerator.h"
#include "redirect/autocast.h"
#include "redirect/cuda.h"
#include "redirect/fallbacks.h"
#include "redirect/force.h"
#include "redirect/kernel.h"
#include "redirect/out_check.h"
#include "redirect/override.h"
#include "redirect/registration.h"
#include "redirect/state.h"
#include "runtime/drawing.h"
#include "runtime/imports.h"
#include "runtime/streams.h"

namespace py = pybind11;

namespace compat::shim {
namespace {

const c10::Device kPretended{c10::kCUDA, 0};

// A backend outside torch may name its device type after the shim is configured.
c10::DeviceType type_named(const std::string& host) {
    try {
        return c10::Device(host).type();
    } catch (const c10::Error&) {
        return c10::kPrivateUse1;
    }
}

// `host`: a type of device.
void configure(const std::string& host, const std::string& mode) {
    const auto parsed_mode = parse_mode(mode);
    if (!parsed_mode) throw py::value_error("the mode is missing or full, not " + mode);
    set_settings({parse_host(host).value_or(Host::accelerator), *parsed_mode, type_named(host)});
}

std::string redirect_by_name(const std::string& symbol, const std::string& device) {
    return redirect(Recorder::instance().op_id(symbol), c10::Device(device)).str();
}

std::vector<PyObject*> borrowed(const std::vector<py::object>& objects) {
    std::vector<PyObject*> result;
    for (const auto& object : objects) result.push_back(object.ptr());
    return result;
}

// Features that are off because no library of this torch imports a function that they need. Runs
// once: a second replacement would find our own functions in the tables.
const std::vector<std::string>& replace_functions() {
    static const auto missing = [] {
        std::vector<std::string> features;
        const auto [parser, printer] = override_imports();
        const std::array imports{parser, printer, out_check_import()};
        const std::array needed_for{R"(the device "cpu:-1")",
                                    R"(the device "cpu:-1" in TorchScript)",
                                    "out= together with device="};
        const auto replaced = replace_imports(imports);
        for (std::size_t i = 0; i < imports.size(); ++i)
            if (replaced[i] == 0) features.emplace_back(needed_for[i]);
        if (!install_drawing()) features.emplace_back("random numbers from a generator of CUDA");
        return features;
    }();
    return missing;
}

// Returns the features that are off in this torch.
std::vector<std::string> install(const std::vector<py::object>& types,
                                 const std::vector<py::object>& functions) {
    install_generators();
    if (!host_kind().serves_cuda) install_cuda();
    install_override(borrowed(types), borrowed(functions));
    const auto& missing = replace_functions();
    register_kernels();
    count_fallbacks();
    return missing;
}

// cuda:0's default generator as torch.Generator; always the same object, like torch's own default
// generators.
py::object default_generator() {
    static PyObject* generator = THPGenerator_initDefaultGenerator(default_cuda_generator());
    return py::reinterpret_borrow<py::object>(generator);
}

// By the type of device, as compat_shim/record.py writes them.
py::dict take_kernel_counts() {
    py::dict counts;
    if (const auto allocations = take_accelerator_allocations())
        counts[c10::DeviceTypeName(host_type(), true).c_str()] = *allocations;
    return counts;
}

}  // namespace

PYBIND11_MODULE(_compat_redirect, module) {
    module.def("configure", &configure, py::arg("host"), py::arg("mode"));
    module.def("install", &install, py::arg("types"), py::arg("functions"));
    module.def("is_host_named", &is_host_named);
    module.def("note_host_named", &note_host_named);
    module.def("host", [] { return c10::DeviceTypeName(host_type(), true); });
    module.def("register_autocast", &register_autocast);
    module.def("include_this_thread", &include_this_thread, py::arg("included"));
    module.def("this_thread_included", &this_thread_included);
    module.attr("MODE_KEY") = c10::toString(kModeKey);  // what it includes

    module.def("redirect", &redirect_by_name, py::arg("symbol"), py::arg("device"));
    module.def(
        "force",
        [](const std::string& symbol) { return force(Recorder::instance().op_id(symbol)).str(); },
        py::arg("symbol"));

    // Streams of the pretended cuda:0.
    module.def("current_stream", [] { return current_stream(kPretended); });
    module.def(
        "exchange_stream", [](c10::StreamId stream) { return exchange_stream(kPretended, stream); },
        py::arg("stream"));
    module.def("default_generator", &default_generator);
    // The generator that the accelerator's own module returns.
    module.def("accelerator_generator", [] {
        return py::reinterpret_steal<py::object>(THPGenerator_Wrap(accelerator_generator()));
    });
    module.def("take_kernel_counts", &take_kernel_counts);
    module.def("tensor_memory", [] {
        const TensorMemory memory = tensor_memory();
        return py::make_tuple(memory.bytes, memory.blocks);
    });
    module.def("reset_peak_memory", &reset_peak_memory);
    module.def("reset_accumulated_memory", &reset_accumulated_memory);
}

}  // namespace compat::shim
