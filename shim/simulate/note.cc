#include "simulate/note.h"

#include "simulate/accelerator.h"

namespace compat::shim::simulate {

void note(EventKind kind, const c10::OperatorHandle& op) {
    note(kind, c10::toString(op.operator_name()));
}

void note(EventKind kind, std::string_view symbol) {
    if (!Py_IsInitialized()) return;
    const PyGILState_STATE state = PyGILState_Ensure();
    auto& recorder = Recorder::instance();
    recorder.note({recorder.op_id(symbol), kind, accelerator().device(0), kHostDevice});
    PyGILState_Release(state);
}

}  // namespace compat::shim::simulate
