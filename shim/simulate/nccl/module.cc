// The Python module _compat_nccl: torch.distributed.ProcessGroupNCCL of simulated CUDA devices
// (compat_shim/simulate/nccl.py puts it in its place). Torch's own Backend is its base.
#include <pybind11/chrono.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>

#include <array>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "simulate/nccl/backend.h"
#include "simulate/nccl/errors.h"
#include "simulate/nccl/fault.h"
#include "simulate/nccl/watchdog.h"

namespace py = pybind11;

namespace compat::shim::simulate {
namespace {

using Backend = c10d::Backend;
using Options = NcclOptions;
using Unlocked = py::call_guard<py::gil_scoped_release>;

constexpr std::array<std::string_view, 4> kFaultKinds{"exit", "hang", "slow", "drop"};

Fault fault_from(std::uint64_t rank, std::uint64_t call, std::string_view kind, double seconds) {
    for (std::size_t i = 0; i < kFaultKinds.size(); ++i)
        if (kFaultKinds[i] == kind)
            return {rank, call, static_cast<Fault::Kind>(i),
                    std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000))};
    throw py::value_error("there is no fault \"" + std::string(kind) + "\"");
}

// Makes gloo's backend through its Python class, because torch's package lacks its headers.
c10::intrusive_ptr<Backend> make_gloo(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                      int size, std::chrono::milliseconds timeout) {
    const py::gil_scoped_acquire gil;
    try {
        return py::module_::import("torch._C._distributed_c10d")
            .attr("ProcessGroupGloo")(store, rank, size, py::arg("timeout") = timeout)
            .cast<c10::intrusive_ptr<Backend>>();
    } catch (const py::error_already_set& error) {
        throw std::runtime_error(error.what());  // may end without the GIL
    }
}

// Waits for the other ranks with the GIL released.
template <class Group>
c10::intrusive_ptr<Group> new_group(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                    int size, const c10::intrusive_ptr<Options>& options) {
    const py::gil_scoped_release unlocked;
    return c10::make_intrusive<Group>(store, rank, size, options, &make_gloo);
}

template <NcclKind kind>
void bind_as(py::module_& module, const char* name) {
    using Group = NcclBackendOf<kind>;
    py::class_<Group, Backend, c10::intrusive_ptr<Group>> group(module, name);
    group
        .def(py::init([](const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                         const c10::intrusive_ptr<Options>& options,
                         std::optional<c10::Device> device) {
                 auto made = new_group<Group>(store, rank, size, options);
                 if (device) made->setBoundDeviceId(device);
                 // A group that knows its device makes its communicator at once.
                 if (device && !options->lazy_init) made->eagerConnectSingleDevice(*device);
                 return made;
             }),
             py::arg("store"), py::arg("rank"), py::arg("size"), py::arg("options"),
             py::arg("device_id") = std::nullopt)
        .def(py::init([](const c10::intrusive_ptr<c10d::Store>& store, int rank, int size) {
                 return new_group<Group>(store, rank, size, c10::make_intrusive<Options>());
             }),
             py::arg("store"), py::arg("rank"), py::arg("size"))
        .def_property_readonly("options", &Group::options)
        .def("perform_nocolor_split", [](Group&, const py::object&) {});
    if constexpr (kind == NcclKind::nccl2)
        group
            .def(
                "register_mem_pool", [](Group&, const py::object&, bool) {}, py::arg("pool"),
                py::arg("symm") = false)
            .def("deregister_mem_pool", [](Group&, const py::object&) {});
    else
        group.def("_num_active_channels", &Group::connected_peers);
}

using GroupClass = py::class_<NcclBackend, Backend, c10::intrusive_ptr<NcclBackend>>;

void bind_options(GroupClass& group) {
    // With room for the options of a newer torch, which have no effect here (simulate/nccl.py).
    py::class_<NcclConfig>(group, "NCCLConfig", py::dynamic_attr())
        .def(py::init<>())
        .def_readwrite("blocking", &NcclConfig::blocking)
        .def_readwrite("cga_cluster_size", &NcclConfig::cga_cluster_size)
        .def_readwrite("min_ctas", &NcclConfig::min_ctas)
        .def_readwrite("max_ctas", &NcclConfig::max_ctas)
        .def_readwrite("split_share", &NcclConfig::split_share)
        .def_readwrite("traffic_class", &NcclConfig::traffic_class)
        .def_readwrite("collnet_enable", &NcclConfig::collnet_enable)
        .def_readwrite("cta_policy", &NcclConfig::cta_policy)
        .def_readwrite("shrink_share", &NcclConfig::shrink_share)
        .def_readwrite("nvls_ctas", &NcclConfig::nvls_ctas)
        .def_readwrite("n_channels_per_net_peer", &NcclConfig::n_channels_per_net_peer)
        .def_readwrite("net_name", &NcclConfig::net_name)
        .def_readwrite("comm_name", &NcclConfig::comm_name)
        .def("__copy__", [](const NcclConfig& self) { return self; })
        .def("__deepcopy__", [](const NcclConfig& self, const py::dict&) { return self; });
    py::class_<Options, Backend::Options, c10::intrusive_ptr<Options>>(group, "Options",
                                                                            py::dynamic_attr())
        .def(py::init([](bool high) { return c10::make_intrusive<Options>(high); }),
             py::arg("is_high_priority_stream") = false)
        .def_readwrite("is_high_priority_stream", &Options::is_high_priority_stream)
        .def_readwrite("config", &Options::config)
        .def_readwrite("split_from", &Options::split_from)
        .def_readwrite("split_color", &Options::split_color)
        .def_readwrite("lazy_init", &Options::lazy_init)
        .def_readwrite("global_ranks_in_group", &Options::global_ranks_in_group)
        .def_readwrite("group_name", &Options::group_name)
        .def("__copy__", [](const Options& self) { return c10::make_intrusive<Options>(self); })
        .def("__deepcopy__", [](const Options& self, const py::dict&) {
            return c10::make_intrusive<Options>(self);
        });
}

// `module`: "torch._C._distributed_c10d", the module that the classes report as theirs.
void bind(py::module_& module) {
    GroupClass group(module, "ProcessGroupNCCL");
    bind_options(group);
    group
        .def(py::init([](const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                         const c10::intrusive_ptr<Options>& options) {
                 return new_group<NcclBackend>(store, rank, size, options);
             }),
             py::arg("store"), py::arg("rank"), py::arg("size"), py::arg("options"))
        .def(py::init([](const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                         std::chrono::milliseconds timeout) {
                 auto options = c10::make_intrusive<Options>();
                 options->timeout = timeout;
                 return new_group<NcclBackend>(store, rank, size, options);
             }),
             py::arg("store"), py::arg("rank"), py::arg("size"),
             py::arg("timeout") = std::chrono::minutes(10))
        .def_property_readonly("options", &NcclBackend::options)
        .def_property_readonly("uid", &NcclBackend::uid)
        .def_property("bound_device_id", &NcclBackend::getBoundDeviceId,
                      &NcclBackend::setBoundDeviceId)
        .def("get_error", &NcclBackend::getError)
        .def("_group_start", &NcclBackend::startCoalescing, Unlocked())
        .def(
            "_group_end", [](NcclBackend& self) { (void)self.endCoalescing(); }, Unlocked())
        .def("_set_default_timeout", &NcclBackend::setTimeout, py::arg("timeout"))
        .def("_add_ephemeral_timeout", &NcclBackend::addEphemeralTimeout, py::arg("timeout"))
        .def("perform_nocolor_split", [](NcclBackend&, const py::object&) {})
        .def("comm_split_count", &NcclBackend::splits)
        .def("_is_initialized", &NcclBackend::is_initialized, Unlocked())
        .def(
            "register_mem_pool", [](NcclBackend&, const py::object&, bool) {}, py::arg("pool"),
            py::arg("symm") = false)
        .def("deregister_mem_pool", [](NcclBackend&, const py::object&) {})
        .def("abort", &NcclBackend::abort, Unlocked())
        .def("_abort", &NcclBackend::abort, Unlocked())
        .def("_shutdown", &NcclBackend::shutdown, Unlocked())
        .def_static("get_build_nccl_version",
                    [] { return py::make_tuple(kNcclMajor, kNcclMinor, kNcclPatch); })
        .def_static("get_runtime_nccl_version",
                    [] { return py::make_tuple(kNcclMajor, kNcclMinor, kNcclPatch); });
}

}  // namespace

PYBIND11_MODULE(_compat_nccl, module) {
    bind(module);
    bind_as<NcclKind::nccl2>(module, "ProcessGroupNCCL2");
    bind_as<NcclKind::nccl_lazy>(module, "ProcessGroupNCCLLazy");
    module.attr("nccl_version") = py::make_tuple(kNcclMajor, kNcclMinor, kNcclPatch);
    module.def(
        "wait_for_all", [] { Watchdog::instance().wait_for_all(); }, Unlocked());
    // (rank, call, kind, seconds)
    module.def(
        "set_faults",
        [](const std::vector<std::tuple<std::uint64_t, std::uint64_t, std::string, double>>& all) {
            std::vector<Fault> faults;
            for (const auto& [rank, call, kind, seconds] : all)
                faults.push_back(fault_from(rank, call, kind, seconds));
            set_faults(std::move(faults));
        },
        py::arg("faults"));
}

}  // namespace compat::shim::simulate
