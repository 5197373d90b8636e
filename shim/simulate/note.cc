#include "simulate/note.h"

#include <string>

#include "simulate/accelerator.h"

namespace compat::shim::simulate {
namespace {

bool goes_on = false;

// The class to which torch's bindings translate the error (torch/csrc/Exceptions.h).
std::string_view class_in_python(const c10::Error& error) {
    if (dynamic_cast<const c10::TypeError*>(&error)) return "TypeError";
    if (dynamic_cast<const c10::NotImplementedError*>(&error)) return "NotImplementedError";
    if (dynamic_cast<const c10::IndexError*>(&error)) return "IndexError";
    if (dynamic_cast<const c10::ValueError*>(&error)) return "ValueError";
    return "RuntimeError";
}

void count(EventKind kind, std::string_view symbol, const std::string& message) {
    if (!Py_IsInitialized()) return;
    const PyGILState_STATE state = PyGILState_Ensure();
    auto& recorder = Recorder::instance();
    recorder.note({recorder.op_id(symbol), kind, accelerator().device(0), kHostDevice,
                   message.empty() ? kNoName : recorder.op_id(message)});
    PyGILState_Release(state);
}

}  // namespace

void note(EventKind kind, const c10::OperatorHandle& op) {
    note(kind, c10::toString(op.operator_name()));
}

void note(EventKind kind, std::string_view symbol) { count(kind, symbol, {}); }

void keep_going() noexcept { goes_on = true; }

bool keeps_going() noexcept { return goes_on; }

void note_not_raised(std::string_view symbol, const c10::Error& error) {
    std::string message(class_in_python(error));
    count(EventKind::refusal, symbol, message + ": " + error.what_without_backtrace());
}

}  // namespace compat::shim::simulate
