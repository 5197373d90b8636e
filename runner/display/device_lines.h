// Describes the devices of a run, and those that device-probe printed
// (docs/reference/file-formats.md). Pure. Not for running it (prepare::probe_devices).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace compat::display {

// One line per device, then one per failed query. Text of an unknown format becomes one line that
// says so.
[[nodiscard]] std::vector<std::string> device_lines(std::string_view json);

// "redirects missing devices": the effect of a policy of the shim.
[[nodiscard]] std::string policy_words(std::string_view policy);

// Device settings of a run.
struct Redirection {
    std::string device;
    std::optional<std::string> simulated;
    bool shim = true;
    std::string policy;
    bool fallback = true;
    bool imported = false;
};

// "device mps (simulated), fallback on, shim redirects missing devices"
[[nodiscard]] std::string redirection_words(const Redirection& run);

}  // namespace compat::display
