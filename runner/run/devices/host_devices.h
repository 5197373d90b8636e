// Devices as a probe printed them, as one line of JSON (docs/reference/file-formats.md). Pure. Not
// for running a probe (device_probes.h) nor for choosing a device (devices/choice.h).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "devices/devices.h"
#include "runner/base/error.h"

namespace compat::run {

struct ProbedDevice {
    devices::DeviceCapabilities device;
    std::string metadata;  // JSON; empty: none
};

struct HostDevices {
    std::vector<ProbedDevice> devices;
    std::vector<std::pair<std::string, std::string>> failed;  // what was asked, why
    std::string version;  // of the framework that was asked; empty: it does not say
};

// Errors: environment, if it is not such a line.
[[nodiscard]] Expected<HostDevices> parse_devices(std::string_view json);

// "cpu", "cuda:0"; none if the line cannot be read.
[[nodiscard]] std::vector<std::string> device_names(std::string_view json);

}  // namespace compat::run
