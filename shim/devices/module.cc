// The Python module _compat_devices: the library's names for the package compat_devices, which adds
// what is Python's own (containers of tensors, numpy, decorators). Torch is imported before it.
#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <array>
#include <string>
#include <vector>

#include "devices/choice.h"
#include "devices/classify.h"
#include "devices/log.h"
#include "devices/manager.h"
#include "devices/recovery.h"
#include "devices/settings.h"

namespace py = pybind11;

namespace compat::devices {
namespace {

// A thread that waits for the manager's lock must not keep another from Python.
using Unlocked = py::call_guard<py::gil_scoped_release>;

template <std::size_t N>
std::vector<std::string> list_of(const std::array<std::string_view, N>& names) {
    return {names.begin(), names.end()};
}

std::vector<std::string> action_names(ErrorClass error_class) {
    std::vector<std::string> names;
    for (const Action action : actions_for(error_class)) names.emplace_back(row_of(action).name);
    return names;
}

ErrorClass class_named(const std::string& name) {
    for (std::size_t i = 0; i < kErrorClasses.size(); ++i)
        if (kErrorClasses[i] == name) return static_cast<ErrorClass>(i);
    throw py::value_error("there is no class of errors \"" + name + "\"");
}

LogKind kind_named(const std::string& name) {
    for (std::size_t i = 0; i < kLogKinds.size(); ++i)
        if (kLogKinds[i] == name) return static_cast<LogKind>(i);
    throw py::value_error("there is no kind of event \"" + name + "\"");
}

void bind_settings(py::module_& module) {
    py::register_exception<SettingError>(module, "SettingError", PyExc_ValueError);
    py::class_<Settings>(module, "Settings")
        .def_readonly("device", &Settings::device)
        .def_readonly("precision", &Settings::precision)
        .def_readonly("recovery", &Settings::recovery)
        .def_readonly("memory_fraction", &Settings::memory_fraction)
        .def_readonly("prefer", &Settings::prefer)
        .def_readonly("allow_tpu", &Settings::allow_tpu)
        .def_readonly("tpu_batch_factor", &Settings::tpu_batch_factor)
        .def_readonly("cost_cpu", &Settings::cost_cpu)
        .def_readonly("cost_gpu", &Settings::cost_gpu)
        .def_readonly("cost_tpu", &Settings::cost_tpu)
        .def_readonly("enable_optimizations", &Settings::enable_optimizations)
        .def_readonly("origin", &Settings::origin);
    module.def(
        "resolve_settings",
        [](const SettingValues& arguments, const SettingValues& file,
           const SettingValues& environment) {
            return resolve_settings(arguments, file, [&](std::string_view name) {
                const auto found = environment.find(name);
                return found == environment.end() ? std::nullopt
                                                  : std::optional<std::string>(found->second);
            });
        },
        py::arg("arguments"), py::arg("file"), py::arg("environment"));
    py::list rows;
    for (const SettingRow& row : kSettings) {
        py::dict fields;
        fields["name"] = row.name;
        fields["variable"] = row.variable;
        fields["file_key"] = row.file_key;
        fields["allowed"] = row.allowed;
        fields["default"] = row.fallback;
        rows.append(fields);
    }
    module.attr("SETTINGS") = rows;
}

void bind_choice(py::module_& module) {
    py::class_<DtypeSupport>(module, "DtypeSupport")
        .def(py::init([](std::string name, bool works, std::string why) {
                 return DtypeSupport{std::move(name), works, std::move(why)};
             }),
             py::arg("name"), py::arg("works"), py::arg("why") = "")
        .def_readonly("name", &DtypeSupport::name)
        .def_readonly("works", &DtypeSupport::works)
        .def_readonly("why", &DtypeSupport::why);
    py::class_<DeviceCapabilities>(module, "DeviceCapabilities")
        .def(py::init([](std::string device, std::vector<DtypeSupport> dtypes, std::string name,
                         std::optional<std::int64_t> memory_total,
                         std::optional<std::int64_t> memory_free, std::string capability) {
                 DeviceCapabilities made;
                 made.type = type_of_device(device);
                 made.device = std::move(device);
                 made.name = std::move(name);
                 made.memory_total = memory_total;
                 made.memory_free = memory_free;
                 made.capability = std::move(capability);
                 made.dtypes = std::move(dtypes);
                 return made;
             }),
             py::arg("device"), py::arg("dtypes"), py::arg("name") = "",
             py::arg("memory_total") = py::none(), py::arg("memory_free") = py::none(),
             py::arg("capability") = "")
        .def_readonly("device", &DeviceCapabilities::device)
        .def_readonly("type", &DeviceCapabilities::type)
        .def_readonly("name", &DeviceCapabilities::name)
        .def_readonly("memory_total", &DeviceCapabilities::memory_total)
        .def_readonly("memory_free", &DeviceCapabilities::memory_free)
        .def_readonly("capability", &DeviceCapabilities::capability)
        .def_readonly("dtypes", &DeviceCapabilities::dtypes)
        .def("supports", &supports, py::arg("dtype"))
        .def("__repr__", [](const DeviceCapabilities& own) {
            return "DeviceCapabilities(" + own.device + ")";
        });
    py::class_<Choice>(module, "Choice")
        .def_readonly("device", &Choice::device)
        .def_readonly("why", &Choice::why)
        .def_readonly("passed_over", &Choice::passed_over);
    py::class_<DtypeChoice>(module, "DtypeChoice")
        .def_readonly("dtype", &DtypeChoice::dtype)
        .def_readonly("why", &DtypeChoice::why);
    py::class_<Batch>(module, "Batch")
        .def_readonly("size", &Batch::size)
        .def_readonly("maximum", &Batch::maximum)
        .def_readonly("factor", &Batch::factor)
        .def_readonly("why", &Batch::why);
    py::class_<Requirements>(module, "Requirements")
        .def(py::init([](std::vector<std::string> types, std::vector<std::string> dtypes,
                         std::int64_t memory, std::string capability) {
                 return Requirements{std::move(types), std::move(dtypes), memory,
                                     std::move(capability)};
             }),
             py::arg("types") = std::vector<std::string>{},
             py::arg("dtypes") = std::vector<std::string>{}, py::arg("memory") = 0,
             py::arg("capability") = "");
    py::class_<Fit>(module, "Fit")
        .def_readonly("fits", &Fit::fits)
        .def_readonly("reasons", &Fit::reasons);
    module.def("chain", &chain, py::arg("devices"), py::arg("settings"));
    module.def("best", &best, py::arg("devices"), py::arg("settings"), py::arg("prefer") = "");
    module.def("recommended_dtype", &recommended_dtype, py::arg("device"), py::arg("settings"));
    module.def("batch", &batch, py::arg("base"), py::arg("device"), py::arg("settings"),
               py::arg("sample_bytes") = 0);
    module.def("validate", &validate, py::arg("requirements"), py::arg("device"),
               py::arg("settings"));
}

void bind_recovery(py::module_& module) {
    py::class_<Classification>(module, "Classification")
        .def_property_readonly("error_class",
                               [](const Classification& own) { return name_of(own.error_class); })
        .def_readonly("rule", &Classification::rule)
        .def_property_readonly(
            "recovery", [](const Classification& own) { return action_names(own.error_class); })
        .def("__repr__", [](const Classification& own) {
            return "Classification(" + std::string(name_of(own.error_class)) + ", " + own.rule +
                   ")";
        });
    module.def(
        "classify",
        [](const std::string& type, const std::string& message) { return classify(type, message); },
        py::arg("type"), py::arg("message"));
    module.attr("ERROR_CLASSES") = list_of(kErrorClasses);
    module.attr("DEFAULT_TRIES") = kDefaultTries;
    module.def(
        "recovery_of", [](const std::string& name) { return action_names(class_named(name)); },
        py::arg("error_class"));
    py::class_<CallFacts>(module, "CallFacts")
        .def(py::init<>())
        .def_readwrite("devices", &CallFacts::devices)
        .def_readwrite("has_other_floats", &CallFacts::has_other_floats)
        .def_readwrite("takes_dtype", &CallFacts::takes_dtype)
        .def_readwrite("takes_map_location", &CallFacts::takes_map_location)
        .def_readwrite("batch", &CallFacts::batch);
    py::class_<Placement>(module, "Placement")
        .def(py::init<>())
        .def_readonly("device", &Placement::device)
        .def_readonly("dtype", &Placement::dtype)
        .def_readonly("batch", &Placement::batch)
        .def_readonly("map_location", &Placement::map_location);
    py::class_<RecoveryStep>(module, "RecoveryStep")
        .def_property_readonly("action",
                               [](const RecoveryStep& own) { return row_of(own.action).name; })
        .def_readonly("placement", &RecoveryStep::placement)
        .def_readonly("what", &RecoveryStep::what);
    py::class_<RecoveryPlan>(module, "RecoveryPlan")
        .def(py::init<int, std::vector<std::string>>(), py::arg("tries"), py::arg("chain"))
        .def(
            "next",
            [](RecoveryPlan& plan, const std::string& error_class, const CallFacts& facts) {
                return plan.next(class_named(error_class), facts);
            },
            py::arg("error_class"), py::arg("facts"))
        .def_property_readonly("taken", &RecoveryPlan::taken);
}

void bind_log(py::module_& module) {
    py::class_<LogEvent>(module, "LogEvent")
        .def_readonly("number", &LogEvent::number)
        .def_readonly("time", &LogEvent::time)
        .def_readonly("thread", &LogEvent::thread)
        .def_property_readonly(
            "kind",
            [](const LogEvent& own) { return kLogKinds[static_cast<std::size_t>(own.kind)]; })
        .def_readonly("what", &LogEvent::what)
        .def_readonly("device", &LogEvent::device)
        .def_readonly("from_", &LogEvent::from)
        .def_readonly("why", &LogEvent::why)
        .def_readonly("error_class", &LogEvent::error_class)
        .def_readonly("rule", &LogEvent::rule)
        .def_readonly("bytes", &LogEvent::bytes)
        .def_readonly("seconds", &LogEvent::seconds)
        .def_readonly("preceded_by", &LogEvent::preceded_by)
        .def("__repr__", [](const LogEvent& own) {
            return "LogEvent(" + std::to_string(own.number) + ", " +
                   std::string(kLogKinds[static_cast<std::size_t>(own.kind)]) + ", " + own.what +
                   ")";
        });
    py::class_<DeviceLog, std::unique_ptr<DeviceLog, py::nodelete>>(module, "DeviceLog")
        .def_static("instance", &DeviceLog::instance, py::return_value_policy::reference)
        .def("enable", &DeviceLog::enable, py::arg("capacity") = DeviceLog::kCapacity)
        .def("disable", &DeviceLog::disable)
        .def_property_readonly("enabled", &DeviceLog::enabled)
        .def("clear", &DeviceLog::clear)
        .def(
            "add",
            [](DeviceLog& log, const std::string& kind, std::string what, std::string device,
               std::string from, std::string why, std::string error_class, std::string rule,
               std::optional<std::int64_t> bytes, double seconds) {
                LogEvent event;
                event.kind = kind_named(kind);
                event.what = std::move(what);
                event.device = std::move(device);
                event.from = std::move(from);
                event.why = std::move(why);
                event.error_class = std::move(error_class);
                event.rule = std::move(rule);
                event.bytes = bytes;
                event.seconds = seconds;
                return log.add(std::move(event));
            },
            py::arg("kind"), py::arg("what"), py::arg("device") = "", py::arg("from_") = "",
            py::arg("why") = "", py::arg("error_class") = "", py::arg("rule") = "",
            py::arg("bytes") = py::none(), py::arg("seconds") = 0.0)
        .def("counters",
             [](const DeviceLog& log) {
                 const auto counters = log.counters();
                 py::dict fields;
                 for (std::size_t i = 0; i < kLogKinds.size(); ++i)
                     fields[py::str(std::string(kLogKinds[i]))] = counters.events[i];
                 fields["bytes_moved"] = counters.bytes_moved;
                 fields["seconds_moving"] = counters.seconds_moving;
                 fields["dropped"] = counters.dropped;
                 return fields;
             })
        .def("events", &DeviceLog::events)
        .def("before", &DeviceLog::before, py::arg("error"))
        .def("json_lines", &DeviceLog::json_lines);
}

void bind_manager(py::module_& module) {
    py::class_<Memory>(module, "Memory")
        .def_readonly("total", &Memory::total)
        .def_readonly("free", &Memory::free)
        .def_readonly("allocated", &Memory::allocated)
        .def_readonly("reserved", &Memory::reserved);
    using One = at::Tensor (DeviceManager::*)(const at::Tensor&, const std::string&);
    py::class_<DeviceManager>(module, "DeviceManager")
        .def(py::init([](Settings settings, DeviceManager::Describe describe) {
                 return std::make_unique<DeviceManager>(std::move(settings), std::move(describe));
             }),
             py::arg("settings"), py::arg("describe"))
        .def_property_readonly("settings", py::cpp_function(&DeviceManager::settings, Unlocked()))
        .def("devices", &DeviceManager::devices, Unlocked())
        .def("failed", &DeviceManager::failed, Unlocked())
        .def("refresh", &DeviceManager::refresh, Unlocked())
        .def("add", &DeviceManager::add, py::arg("device"), Unlocked())
        .def("best", &DeviceManager::best, py::arg("prefer") = "", Unlocked())
        .def("chain", &DeviceManager::chain, Unlocked())
        .def("capabilities", &DeviceManager::capabilities, py::arg("device") = "", Unlocked())
        .def("recommended_dtype", &DeviceManager::recommended_dtype, py::arg("device") = "",
             Unlocked())
        .def("batch", &DeviceManager::batch, py::arg("base"), py::arg("device") = "",
             py::arg("sample_bytes") = 0, Unlocked())
        .def("validate", &DeviceManager::validate, py::arg("requirements"), py::arg("device") = "",
             Unlocked())
        .def("ensure_device", static_cast<One>(&DeviceManager::ensure_device), py::arg("tensor"),
             py::arg("device") = "", Unlocked())
        .def("ensure_dtype", static_cast<One>(&DeviceManager::ensure_dtype), py::arg("tensor"),
             py::arg("dtype") = "", Unlocked())
        .def("memory", &DeviceManager::memory, py::arg("device") = "", Unlocked())
        .def("free_memory", &DeviceManager::free_memory, py::arg("device") = "", Unlocked());
}

}  // namespace

PYBIND11_MODULE(_compat_devices, module) {
    module.attr("built_for") = std::vector<std::string>{
        COMPAT_SHIM_TORCH_VERSION, COMPAT_SHIM_TORCH_GIT, COMPAT_SHIM_PYTHON_ABI};
    bind_settings(module);
    bind_choice(module);
    bind_recovery(module);
    bind_log(module);
    bind_manager(module);
}

}  // namespace compat::devices
