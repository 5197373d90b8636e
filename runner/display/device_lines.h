// Devices in words: those of a run, and what device-probe printed (docs/reference/file-formats.md).
// Pure. Not for asking it (prepare::probe_devices).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace compat::display {

// A line a device, then one for each type that could not be asked. Text that is not of a format
// that we know is one line that says so.
[[nodiscard]] std::vector<std::string> device_lines(std::string_view json);

// Where a run's tests ran, and what was redirected.
struct Redirection {
    std::string device;
    std::optional<std::string> simulated;
    bool shim = true;
    std::string policy;
    bool fallback = true;
    bool imported = false;
};

// "device mps (simulated), fallback on, policy missing"
[[nodiscard]] std::string redirection_words(const Redirection& run);

}  // namespace compat::display
