#include "redirect/override.h"

#include <c10/util/Exception.h>

#include <atomic>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "record/frame.h"
#include "record/recorder.h"
#include "redirect/state.h"
#include "runtime/python_functions.h"
#include "runtime/torch_symbols.h"

namespace compat::shim {
namespace {

constexpr char kToggle[] = "cpu:-1";
// No string gives the CPU this index, and a debug build's constructor rejects it.
const c10::Device kToggleDevice = [] {
    c10::Device device(c10::kCPU);
    device.set_index(-2);
    return device;
}();

// The call that toggled last: the torch function that a user's line called. It may ask again before
// it returns. The reference is kept so that no other frame can have its address; guarded by the
// GIL. `holding` says to any thread whether there is such a call.
PyFrameObject* last_call = nullptr;
std::thread::id last_thread;
std::atomic<bool> holding{false};

// The state of a C function that asks once for each of its parts; set while it runs.
enum class InFunction { none, not_toggled, toggled };
thread_local InFunction in_function = InFunction::none;

bool on_this_stack(PyFrameObject* wanted) {
    OwnedFrame frame(PyThreadState_GetFrame(PyThreadState_Get()));
    while (frame && frame.get() != wanted) frame.reset(PyFrame_GetBack(frame.get()));
    return frame != nullptr;
}

void let_go() {
    holding.store(false);
    PyFrameObject* frame = std::exchange(last_call, nullptr);
    Py_XDECREF(frame);
}

// c10::Device::Device(const std::string&), as the Itanium C++ ABI calls it. On Apple's arm64 a
// constructor returns `this`, and callers use it (clang's AppleARM64CXXABI).
c10::Device* parse(c10::Device* device, const std::string& text) {
    if (text == kToggle) return ::new (device) c10::Device(kToggleDevice);
    note_named_host(std::string_view(text));
    return ::new (device) c10::Device(text);
}

// std::string c10::Device::str() const: TorchScript prints devices and parses the text.
std::string print(const c10::Device* device) {
    return is_toggle(*device) ? kToggle : device->str();
}

bool asks_to_toggle(PyObject* value) {
    return PyUnicode_Check(value) && PyUnicode_CompareWithASCIIString(value, kToggle) == 0;
}

// The arguments with "cpu" in place of "cpu:-1"; toggles if an argument was that. New references,
// or null with a Python error.
struct Arguments {
    PyObject* positional;
    PyObject* named;  // null: none
    ~Arguments() {
        Py_XDECREF(positional);
        Py_XDECREF(named);
    }
};

bool toggle_in(Arguments& arguments, OpId symbol) {
    PyObject* plain = PyUnicode_InternFromString("cpu");
    if (!plain) return false;
    bool found = false;
    const Py_ssize_t count = PyTuple_GET_SIZE(arguments.positional);
    PyObject* copy = PyTuple_New(count);
    for (Py_ssize_t i = 0; copy && i < count; ++i) {
        PyObject* value = PyTuple_GET_ITEM(arguments.positional, i);
        const bool toggles = asks_to_toggle(value);
        found |= toggles;
        PyTuple_SET_ITEM(copy, i, Py_NewRef(toggles ? plain : value));
    }
    Py_DECREF(arguments.positional);
    arguments.positional = copy;
    bool ok = copy != nullptr;
    if (ok && arguments.named) {
        PyObject* named = PyDict_Copy(arguments.named);
        Py_DECREF(arguments.named);
        arguments.named = named;
        ok = named != nullptr;
        PyObject *key = nullptr, *value = nullptr;
        // Existing keys may be assigned while the dict is iterated.
        for (Py_ssize_t at = 0; ok && PyDict_Next(named, &at, &key, &value);) {
            if (!asks_to_toggle(value)) continue;
            found = true;
            ok = PyDict_SetItem(named, key, plain) == 0;
        }
    }
    Py_DECREF(plain);
    if (ok && found) (void)redirect(symbol, kToggleDevice);
    return ok;
}

// One class for each C type, because a constructor has no state of its own.
template <std::size_t N>
struct Constructor {
    static inline newfunc original = nullptr;
    static inline OpId symbol = 0;

    static PyObject* construct(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
        Arguments arguments{Py_NewRef(args), kwargs ? Py_NewRef(kwargs) : nullptr};
        if (!toggle_in(arguments, symbol)) return nullptr;
        return original(type, arguments.positional, arguments.named);
    }
    static void install(PyObject* type) {
        auto* c_type = reinterpret_cast<PyTypeObject*>(type);
        if (original) return;  // an interrupted activation is retried
        symbol = Recorder::instance().op_id(c_type->tp_name);
        original = std::exchange(c_type->tp_new, &construct);
        PyType_Modified(c_type);
    }
};

// Wraps a C function so that it counts as one call. One class for each function.
template <std::size_t N>
struct OneCall {
    static inline PyCFunctionWithKeywords original = nullptr;

    static PyObject* call(PyObject* self, PyObject* args, PyObject* kwargs) {
        const auto before = std::exchange(in_function, InFunction::not_toggled);
        PyObject* result = original(self, args, kwargs);
        in_function = before;
        return result;
    }
    static void install(PyObject* function) {
        if (original) return;
        original = exchange_method(function, &call);
    }
};

template <template <std::size_t> class Replacement, std::size_t... N>
void install_each(const std::vector<PyObject*>& objects, std::index_sequence<N...>) {
    TORCH_CHECK(objects.size() <= sizeof...(N), "more objects than replacements for them");
    ((N < objects.size() ? Replacement<N>::install(objects[N]) : void()), ...);
}

}  // namespace

bool is_toggle(c10::Device device) noexcept { return device == kToggleDevice; }

bool first_toggle_of_call() noexcept {
    if (in_function != InFunction::none)
        return std::exchange(in_function, InFunction::toggled) == InFunction::not_toggled;
    if (!Py_IsInitialized() || !PyGILState_GetThisThreadState()) return true;
    const PyGILState_STATE gil = PyGILState_Ensure();
    OwnedFrame call = Recorder::instance().call_of_the_users_line();
    const bool first = !call || call.get() != last_call;
    if (first) let_go();
    if (first && call) {
        last_call = call.release();
        last_thread = std::this_thread::get_id();
        holding.store(true);
    }
    PyGILState_Release(gil);
    return first;
}

bool toggling_call_runs() noexcept {
    if (!holding.load(std::memory_order_relaxed) || !Py_IsInitialized() ||
        !PyGILState_GetThisThreadState())
        return false;
    const PyGILState_STATE gil = PyGILState_Ensure();
    const bool here = last_call && last_thread == std::this_thread::get_id();
    const bool runs = here && on_this_stack(last_call);
    if (here && !runs) let_go();
    PyGILState_Release(gil);
    return runs;
}

std::array<Import, 2> override_imports() {
    return {{{kTorchSymbols.device_parser, reinterpret_cast<void*>(&parse)},
             {kTorchSymbols.device_printer, reinterpret_cast<void*>(&print)}}};
}

void install_override(const std::vector<PyObject*>& types, std::vector<PyObject*> functions) {
    std::erase_if(functions, [](PyObject* function) { return !takes_keywords(function); });
    install_each<Constructor>(types, std::make_index_sequence<4>());
    install_each<OneCall>(functions, std::make_index_sequence<8>());
}

}  // namespace compat::shim
