// Counts in the record how a simulated device's kernel handled a call, and decides whether a
// refusal ends the call.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>

#include <string_view>

#include "record/recorder.h"

namespace compat::shim::simulate {

// From any thread. The recorder numbers ops under the GIL. A thread of autograd waits for the GIL
// here, as it does in a fallback to the CPU on the device.
void note(EventKind kind, const c10::OperatorHandle& op);
void note(EventKind kind, std::string_view symbol);

// Makes the process record each refusal of the device, and then compute the call on the CPU. Call
// before `install`.
void keep_going() noexcept;
[[nodiscard]] bool keeps_going() noexcept;

// Counts a refusal that was not raised, with its class in Python and its text.
void note_not_raised(std::string_view symbol, const c10::Error& error);

// Runs a check. In a process that keeps going, its error is counted and not thrown.
template <class Check>
void go_on_past(const c10::OperatorHandle& op, Check check) {
    if (!keeps_going()) return check();
    try {
        check();
    } catch (const c10::Error& error) {
        note_not_raised(c10::toString(op.operator_name()), error);
    }
}

// Counts a refusal of `symbol`, and calls `raise` to raise it. In a process that keeps going, it is
// not raised.
template <class Raise>
void refuse(std::string_view symbol, Raise raise) {
    if (!keeps_going()) {
        note(EventKind::refusal, symbol);
        return raise();
    }
    try {
        raise();
    } catch (const c10::Error& error) {
        note_not_raised(symbol, error);
    }
}

}  // namespace compat::shim::simulate
