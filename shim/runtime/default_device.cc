#include "runtime/default_device.h"

#include <ATen/PythonTorchFunctionTLS.h>
#include <c10/util/Exception.h>
#include <torch/csrc/Device.h>

#include <array>
#include <cstddef>

#include "runtime/imports.h"
#include "runtime/python_functions.h"
#include "runtime/torch_symbols.h"

namespace compat::shim {
namespace {

c10::DeviceType default_type = c10::kCPU;
bool (*stays_on_host)() = nullptr;
// The keyword and its value that OnDefault adds to a call; made once, because making them doubles
// its cost.
PyObject *device_key = nullptr, *device_value = nullptr;

// Without an index: the type's current device.
c10::Device target() { return {default_type, -1}; }

// torch::tensors::get_default_device: asked by each call from Python that has a parameter `device`
// and no value for it.
c10::Device default_device() { return stays_on_host() ? c10::Device(c10::kCPU) : target(); }

// Adds `device=` to a call that has none. One class for each function, because a function of a
// method table has no state of its own.
template <std::size_t N>
struct OnDefault {
    static inline PyCFunctionWithKeywords original = nullptr;

    static bool names_device(PyObject* kwargs) {
        PyObject* given = kwargs ? PyDict_GetItem(kwargs, device_key) : nullptr;
        return given && given != Py_None;
    }
    static PyObject* call(PyObject* self, PyObject* args, PyObject* kwargs) {
        // A mode of the program, as `with torch.device(…)`, comes first and then calls again.
        if (names_device(kwargs) || at::impl::torch_function_mode_enabled() || stays_on_host())
            return original(self, args, kwargs);
        PyObject* named = kwargs ? PyDict_Copy(kwargs) : PyDict_New();
        PyObject* result = nullptr;
        if (named && PyDict_SetItem(named, device_key, device_value) == 0)
            result = original(self, args, named);
        Py_XDECREF(named);
        return result;
    }
    static void install(PyObject* function) { original = exchange_method(function, &call); }
};

template <std::size_t... N>
void install_each(const std::vector<PyObject*>& functions, std::index_sequence<N...>) {
    TORCH_CHECK(functions.size() <= sizeof...(N), "more functions than replacements for them");
    ((N < functions.size() ? OnDefault<N>::install(functions[N]) : void()), ...);
}

}  // namespace

bool set_default_device(c10::DeviceType type, std::vector<PyObject*> functions, bool (*stays)()) {
    const std::array imports{
        Import{kTorchSymbols.default_device, reinterpret_cast<void*>(&default_device)}};
    default_type = type;
    stays_on_host = stays;
    if (!device_key) device_key = PyUnicode_InternFromString("device");
    Py_XSETREF(device_value, THPDevice_New(target()));
    if (replace_imports(imports).front() == 0) return false;
    std::erase_if(functions, [](PyObject* function) { return !takes_keywords(function); });
    install_each(functions, std::make_index_sequence<12>());
    return true;
}

}  // namespace compat::shim
