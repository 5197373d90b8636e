// The Python module _compat_shim: the record, streams, memory of the host, and the default device.
// The modules that redirect (redirect/module.cc) and simulate (simulate/module.cc) are beside it
// and use it.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "record/recorder.h"
#include "runtime/default_device.h"
#include "runtime/host_memory.h"
#include "runtime/pinned.h"
#include "runtime/streams.h"

namespace py = pybind11;

namespace compat::shim {
namespace {

// Read from the file's bytes before it is loaded (compat_shim/library.py): a library for another
// torch must not even run its constructors. `used` keeps it in.
[[gnu::used]] constexpr char kBuiltFor[] =
    "compat_shim built for {torch=" COMPAT_SHIM_TORCH_VERSION ";git=" COMPAT_SHIM_TORCH_GIT
    ";python=" COMPAT_SHIM_PYTHON_ABI "}";

constexpr std::array<std::string_view, 4> kLogLevels{"DEBUG", "INFO", "WARNING", "ERROR"};

template <class Enum, std::size_t N>
Enum named(const std::array<std::string_view, N>& names, std::string_view name) {
    for (std::size_t i = 0; i < N; ++i)
        if (names[i] == name) return static_cast<Enum>(i);
    throw py::value_error("unknown word: " + std::string(name));
}

void note(const std::string& kind, const std::string& symbol, const std::string& message) {
    auto& recorder = Recorder::instance();
    recorder.note({recorder.op_id(symbol),
                   named<EventKind>(kEventKinds, kind),
                   {},
                   {},
                   message.empty() ? kNoName : recorder.op_id(message)});
}

// One more step of this process, one of `ranks`.
void note_optimizer_step(int ranks) {
    auto& recorder = Recorder::instance();
    recorder.note({recorder.op_id("torch.optim.Optimizer.step"),
                   EventKind::optimizer_step,
                   {},
                   {},
                   kNoName,
                   kNoName,
                   ranks});
}

using Callers = std::vector<std::pair<std::string, std::string>>;

std::vector<Recorder::Caller> callers_of(const Callers& callers) {
    std::vector<Recorder::Caller> all;
    for (const auto& [file, function] : callers) all.push_back({file, function});
    return all;
}

void bind_record(py::module_& module) {
    module.def(
        "configure",
        [](std::vector<std::string> internal_prefixes, const std::string& log_level) {
            Recorder::instance().configure(std::move(internal_prefixes),
                                           named<LogLevel>(kLogLevels, log_level));
        },
        py::arg("internal_prefixes"), py::arg("log_level"));
    module.def(
        "add_internal_prefix",
        [](std::string prefix) { Recorder::instance().add_internal_prefix(std::move(prefix)); },
        py::arg("prefix"));
    // (prefix of a file name, function or empty)
    module.def(
        "set_host_callers",
        [](const Callers& callers) { Recorder::instance().set_host_callers(callers_of(callers)); },
        py::arg("callers"));
    module.def(
        "set_passing_on",
        [](const Callers& callers) { Recorder::instance().set_passing_on(callers_of(callers)); },
        py::arg("callers"));
    module.def(
        "note_compiled",
        [](const py::object& code) {
            if (!PyCode_Check(code.ptr())) throw py::type_error("not a code object");
            Recorder::instance().note_compiled(reinterpret_cast<PyCodeObject*>(code.ptr()));
        },
        py::arg("code"));
    module.def("note", &note, py::arg("kind"), py::arg("symbol"), py::arg("message") = "");
    module.def("note_optimizer_step", &note_optimizer_step, py::arg("ranks"));

    // An empty string means none.
    py::class_<SiteRow>(module, "SiteRow")
        .def_readonly("kind", &SiteRow::kind)
        .def_readonly("op", &SiteRow::op)
        .def_readonly("from_", &SiteRow::from)
        .def_readonly("to", &SiteRow::to)
        .def_readonly("message", &SiteRow::message)
        .def_readonly("file", &SiteRow::file)
        .def_readonly("line", &SiteRow::line)
        .def_readonly("count", &SiteRow::count)
        .def_readonly("group", &SiteRow::group)
        .def_readonly("ranks", &SiteRow::ranks)
        .def_readonly("bytes", &SiteRow::bytes);
    module.def(
        "call_after_new_sites",
        [](const py::object& hook) { Recorder::instance().call_after_new_sites(hook.ptr()); },
        py::arg("hook"));
    module.def("rows", [] { return Recorder::instance().rows(); });
    // Filled into the caller's list, so that a signal handler never runs while the rows belong to
    // nobody.
    module.def(
        "take_rows",
        [](py::list& into) {
            for (auto& row : Recorder::instance().take()) into.append(std::move(row));
        },
        py::arg("into"));
    module.def("clear_rows", [] { Recorder::instance().clear(); });
    module.def("site_count", [] { return Recorder::instance().size(); });
}

void bind_streams(py::module_& module) {
    module.def("new_stream", &new_stream, py::arg("priority"));
    module.def("stream_priority", &stream_priority, py::arg("stream"));
    module.def("is_stream", &is_stream, py::arg("stream"));
    // Keyed by torch.Event.event_id, for recorded events.
    module.def(
        "elapsed_ms",
        [](std::uintptr_t from, std::uintptr_t to) {
            return elapsed_ms(reinterpret_cast<const void*>(from),
                              reinterpret_cast<const void*>(to));
        },
        py::arg("from"), py::arg("to"));
}

void bind_memory(py::module_& module) {
    py::class_<Figure>(module, "Figure")
        .def_readonly("current", &Figure::current)
        .def_readonly("peak", &Figure::peak)
        .def_readonly("allocated", &Figure::allocated)
        .def_readonly("freed", &Figure::freed);
    module.def("host_memory", [] {
        const HostMemory memory = host_memory();
        return py::make_tuple(memory.free, memory.total);
    });
    module.def("pinned_memory", [] {
        const PinnedFigures figures = pinned_figures();
        return py::make_tuple(figures.bytes, figures.blocks);
    });
    module.def("reset_peak_pinned", &reset_peak_pinned);
    module.def("reset_accumulated_pinned", &reset_accumulated_pinned);
}

void bind_default_device(py::module_& module) {
    // False: this torch lacks the function that it replaces.
    module.def(
        "set_default_device",
        [](const std::string& type, const std::vector<py::object>& functions) {
            std::vector<PyObject*> borrowed;
            for (const auto& function : functions) borrowed.push_back(function.ptr());
            return set_default_device(c10::Device(type).type(), std::move(borrowed),
                                      [] { return Recorder::instance().line_is_for_the_host(); });
        },
        py::arg("type"), py::arg("functions"));
}

}  // namespace

PYBIND11_MODULE(_compat_shim, module) {
    module.attr("built_for") = kBuiltFor;
    bind_record(module);
    bind_streams(module);
    bind_memory(module);
    bind_default_device(module);
}

}  // namespace compat::shim
