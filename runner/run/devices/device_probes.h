// Asks every source of devices on this host, each in a process of its own and all at once, so that
// one that hangs or crashes costs its time limit and no answer of the others. Not for what the
// answers mean (device_report.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/base/clock.h"
#include "runner/plan/command.h"
#include "runner/prepare/prepare.h"
#include "runner/run/devices/host_devices.h"

namespace compat::run {

enum class Probe { pytorch, tensorflow, nvidia_smi, jax };

struct ProbeAnswer {
    Probe probe;
    std::string name;  // "PyTorch"
    HostDevices found;
    std::string why;  // it failed; empty: it answered
    double seconds = 0;
};

// The parts of the host to ask, and with what. A missing part is not asked.
struct ProbeRequest {
    std::optional<prepare::Environment> environment;  // of the Python with the frameworks
    std::filesystem::path shim_library;               // with it PyTorch is asked
    plan::Variables shim_variables;                   // of a process with simulated devices
    std::filesystem::path script;                     // prepare/device_probes.py
};

// Seconds until a probe is ended, and until it is killed: 20 together.
inline constexpr Milliseconds kProbeLimit{16'000};

// In the order of `Probe`; only those that were asked. Errors: io, interrupted.
[[nodiscard]] Expected<std::vector<ProbeAnswer>> ask_probes(const ProbeRequest& request);

// The answer in what a probe printed. Errors: environment, with what it printed instead.
[[nodiscard]] Expected<HostDevices> parse_answer(Probe probe, std::string_view output);

}  // namespace compat::run
