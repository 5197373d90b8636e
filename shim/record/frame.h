// Differences between Python versions in reading frames and in attaching data to code objects.
#pragma once

#include <Python.h>
#if PY_VERSION_HEX < 0x030B0000
#include <frameobject.h>
#endif

#include <memory>

namespace compat::shim {

#if PY_VERSION_HEX >= 0x030C0000
inline Py_ssize_t request_code_slot(freefunc release) {
    return PyUnstable_Eval_RequestCodeExtraIndex(release);
}
inline void* code_slot(PyCodeObject* code, Py_ssize_t slot) {
    void* value = nullptr;
    PyUnstable_Code_GetExtra(reinterpret_cast<PyObject*>(code), slot, &value);
    return value;
}
inline bool set_code_slot(PyCodeObject* code, Py_ssize_t slot, void* value) {
    return PyUnstable_Code_SetExtra(reinterpret_cast<PyObject*>(code), slot, value) == 0;
}
#else
inline Py_ssize_t request_code_slot(freefunc release) {
    return _PyEval_RequestCodeExtraIndex(release);
}
inline void* code_slot(PyCodeObject* code, Py_ssize_t slot) {
    void* value = nullptr;
    _PyCode_GetExtra(reinterpret_cast<PyObject*>(code), slot, &value);
    return value;
}
inline bool set_code_slot(PyCodeObject* code, Py_ssize_t slot, void* value) {
    return _PyCode_SetExtra(reinterpret_cast<PyObject*>(code), slot, value) == 0;
}
#endif

struct DropFrame {
    void operator()(PyFrameObject* frame) const { Py_DECREF(frame); }
};
using OwnedFrame = std::unique_ptr<PyFrameObject, DropFrame>;

// In bytes, as PyCode_Addr2Line wants it.
inline int last_instruction(PyFrameObject* frame) {
#if PY_VERSION_HEX >= 0x030B0000
    return PyFrame_GetLasti(frame);
#elif PY_VERSION_HEX >= 0x030A0000
    return frame->f_lasti * 2;
#else
    return frame->f_lasti;
#endif
}

}  // namespace compat::shim
