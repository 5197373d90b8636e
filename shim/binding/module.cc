// The Python module _compat_shim. Everything Python calls is here; nothing is decided here.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/Generator.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "binding/simulate.h"
#include "cuda/cuda.h"
#include "redirect/autocast.h"
#include "redirect/force.h"
#include "redirect/out_check.h"
#include "redirect/override.h"
#include "redirect/registration.h"
#include "redirect/state.h"

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

void configure(const std::string& host, const std::string& mode,
               std::vector<std::string> internal_prefixes, const std::string& log_level) {
    const auto parsed_host = parse_host(host);
    const auto parsed_mode = parse_mode(mode);
    if (!parsed_host || !parsed_mode)
        throw py::value_error("host is mps, cuda or cpu and mode is missing or full, not " + host +
                              " and " + mode);
    set_settings({*parsed_host, *parsed_mode});
    Recorder::instance().configure(std::move(internal_prefixes),
                                   named<LogLevel>(kLogLevels, log_level));
}

std::string redirect_by_name(const std::string& symbol, const std::string& device) {
    return redirect(Recorder::instance().op_id(symbol), c10::Device(device)).str();
}

void set_host_callers(const std::vector<std::pair<std::string, std::string>>& callers) {
    std::vector<Recorder::Caller> all;
    for (const auto& [file, function] : callers) all.push_back({file, function});
    Recorder::instance().set_host_callers(std::move(all));
}

void note(const std::string& kind, const std::string& symbol) {
    auto& recorder = Recorder::instance();
    recorder.note({recorder.op_id(symbol), named<EventKind>(kEventKinds, kind), {}, {}});
}

std::vector<PyObject*> borrowed(const std::vector<py::object>& objects) {
    std::vector<PyObject*> result;
    for (const auto& object : objects) result.push_back(object.ptr());
    return result;
}

// A second installation would find our own functions in the tables.
void install_imports() {
    static bool done = false;
    if (std::exchange(done, true)) return;
    const auto [parser, printer] = override_imports();
    const std::array imports{parser, printer, out_check_import(), default_generator_import()};
    const auto replaced = replace_imports(imports);
#ifdef __ELF__
    for (std::size_t i = 0; i < imports.size(); ++i)
        if (replaced[i] == 0)
            throw py::import_error(
                "the shim does not know this build of torch: no library imports " +
                std::string(imports[i].symbol) + "; run without the shim");
#endif
}

// A simulated accelerator needs only this one: its CPU kernels draw from its own generator.
void install_drawing() {
    static bool done = false;
    if (std::exchange(done, true)) return;
    const std::array imports{default_generator_import()};
    (void)replace_imports(imports);
}

}  // namespace

PYBIND11_MODULE(_compat_shim, module) {
    module.attr("built_for") = kBuiltFor;

    module.def("configure", &configure, py::arg("host"), py::arg("mode"),
               py::arg("internal_prefixes"), py::arg("log_level"));
    module.def("set_host_callers", &set_host_callers, py::arg("callers"));
    module.def(
        "install",
        [](const std::vector<py::object>& types, const std::vector<py::object>& functions) {
            install_cuda();
            install_override(borrowed(types), borrowed(functions));
            install_imports();
            const Registered registered = register_kernels();
            return py::make_tuple(registered.mode, registered.backend_select);
        },
        py::arg("types"), py::arg("functions"));
    module.def("install_drawing", &install_drawing);
    module.def("host", [] { return name_of(settings().host); });
    module.def("register_autocast", &register_autocast);
    module.def("include_this_thread", &include_this_thread, py::arg("included"));
    module.def("this_thread_included", &this_thread_included);

    module.def("redirect", &redirect_by_name, py::arg("symbol"), py::arg("device"));
    module.def(
        "force",
        [](const std::string& symbol) { return force(Recorder::instance().op_id(symbol)).str(); },
        py::arg("symbol"));
    module.def("note", &note, py::arg("kind"), py::arg("symbol"));

    // (kind, op, from, to, file, line, count); an empty string means none.
    py::class_<SiteRow>(module, "SiteRow")
        .def_readonly("kind", &SiteRow::kind)
        .def_readonly("op", &SiteRow::op)
        .def_readonly("from_", &SiteRow::from)
        .def_readonly("to", &SiteRow::to)
        .def_readonly("file", &SiteRow::file)
        .def_readonly("line", &SiteRow::line)
        .def_readonly("count", &SiteRow::count);
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

    module.def("current_stream", &current_stream);
    module.def("exchange_stream", &exchange_stream, py::arg("stream"));
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

    // cuda:0's default generator as torch.Generator; always the same object, like torch's own
    // default generators.
    module.def("default_generator", [] {
        static PyObject* generator = THPGenerator_initDefaultGenerator(default_cuda_generator());
        return py::reinterpret_borrow<py::object>(generator);
    });

    py::class_<Figure>(module, "Figure")
        .def_readonly("current", &Figure::current)
        .def_readonly("peak", &Figure::peak)
        .def_readonly("allocated", &Figure::allocated)
        .def_readonly("freed", &Figure::freed);
    module.def("memory", [] {
        const MemoryFigures figures = memory_figures();
        py::dict result;
        result["current"] = figures.bytes.current;
        result["peak"] = figures.bytes.peak;
        result["bytes"] = figures.bytes;
        result["blocks"] = figures.blocks;
        result["total"] = figures.total;
        result["free"] = figures.free;
        return result;
    });
    module.def("reset_peak_memory", &reset_peak_memory);
    module.def("reset_accumulated_memory", &reset_accumulated_memory);
    module.def("pinned_memory", [] {
        const PinnedFigures figures = pinned_figures();
        return py::make_tuple(figures.bytes, figures.blocks);
    });
    module.def("reset_peak_pinned", &reset_peak_pinned);
    module.def("reset_accumulated_pinned", &reset_accumulated_pinned);

    bind_simulation(module);
}

}  // namespace compat::shim
