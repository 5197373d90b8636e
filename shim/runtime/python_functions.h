// Helpers for replacing C functions of torch's Python.
#pragma once

#include <Python.h>

namespace compat::shim {

// Whether it is a C function that takes positional and named arguments.
[[nodiscard]] inline bool takes_keywords(PyObject* function) {
    return PyCFunction_Check(function) &&
           (PyCFunction_GET_FLAGS(function) & (METH_VARARGS | METH_KEYWORDS)) ==
               (METH_VARARGS | METH_KEYWORDS);
}

// The function behind all references to it.
[[nodiscard]] inline PyCFunctionWithKeywords exchange_method(PyObject* function,
                                                             PyCFunctionWithKeywords replacement) {
    PyMethodDef* method = reinterpret_cast<PyCFunctionObject*>(function)->m_ml;
    void* original = reinterpret_cast<void*>(method->ml_meth);
    method->ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(replacement));
    return reinterpret_cast<PyCFunctionWithKeywords>(original);
}

}  // namespace compat::shim
