// The policy of this process: set once at activation, used by every kernel. It translates between
// torch's devices and the policy's types and decides nothing itself.
#pragma once

#include <c10/core/Device.h>

#include <string_view>

#include "policy/policy.h"
#include "record/recorder.h"

namespace compat::shim {

struct Settings {
    Host host = Host::cpu;
    Mode mode = Mode::missing;
    c10::DeviceType type = c10::kCPU;  // of the device where redirected requests end
};

void set_settings(const Settings& settings) noexcept;
[[nodiscard]] const Settings& settings() noexcept;
[[nodiscard]] inline c10::DeviceType host_type() noexcept { return settings().type; }
[[nodiscard]] inline const DeviceKind& host_kind() noexcept { return kind_of(settings().host); }

struct Decision {
    c10::Device device;
    Change change;
};

// Where a request for `device` goes in this process.
[[nodiscard]] Decision decide(c10::Device device) noexcept;

// Whether the program has asked for the host's accelerator by its own name. Code that does knows
// the device: from then on its tensors answer as what they are (python/…/masquerade.py).
[[nodiscard]] bool is_host_named() noexcept;
void note_host_named() noexcept;
// The first is for a request of an op: torch's own code asks for a device with an index, as tensors
// have it. The second is for a device's name as a program writes it. Call from any thread.
void note_named_host(c10::Device device) noexcept;
void note_named_host(std::string_view text) noexcept;

// As `decide`, for callers outside the dispatcher (hooks, Python remedies); counts the event.
// Requests for the CPU stay: these callers cannot tell whether a request is the user's
// (redirect/force.h).
[[nodiscard]] c10::Device redirect(OpId symbol, c10::Device device) noexcept;

}  // namespace compat::shim
