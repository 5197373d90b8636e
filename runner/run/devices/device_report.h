// `runner devices`: what the probes found, as one list, with the device that a program gets.
// Not for running probes (device_probes.h), the choice (devices/choice.h), or printing
// (display/device_report.h).
#pragma once

#include <vector>

#include "runner/config/settings.h"
#include "runner/display/device_report.h"
#include "runner/run/devices/device_probes.h"

namespace compat::run {

// Facts besides the probes' answers.
struct HostFacts {
    devices::DeviceCapabilities cpu;  // as the operating system describes it
    std::string torch_version;        // empty: no torch
    std::string tensorflow, jax;      // versions; empty: not installed
    std::string tpu_name, tpu_zone;   // TPU_NAME and TPU_ZONE
    std::string simulated;            // "mps", "cuda"; empty: nothing is simulated
};

// Facts of this process and this environment.
[[nodiscard]] HostFacts host_facts(const std::optional<prepare::Environment>& environment,
                                   const std::string& simulated);

// Errors: usage, for a variable that only the device library reads.
[[nodiscard]] Expected<display::DeviceReport> report_of(const std::vector<ProbeAnswer>& answers,
                                                        const HostFacts& facts,
                                                        const config::Settings& settings);

}  // namespace compat::run
