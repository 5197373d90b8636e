// `runner devices`: its values, its text and its JSON (reports/schemas/devices.schema.json). Pure.
// Not for finding devices (run/devices) nor for the lines of `doctor` (device_lines.h).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "devices/devices.h"

namespace compat::display {

struct ReportedDevice {
    devices::DeviceCapabilities capabilities;
    std::string kind;      // cpu, gpu, tpu
    std::string found_by;  // "PyTorch", "nvidia-smi", "the operating system"
    bool simulated = false;
    std::string dtype, dtype_why;  // the recommended one; empty: none works
    std::int64_t batch_factor = 1;
    double cost_per_hour = 0;  // dollars, an estimate
    std::string metadata;      // JSON; empty: none
};

struct ReportedSetting {
    std::string key, text, origin;
    bool given = false;  // by the user or a suite
};

struct DeviceReport {
    std::string current, why;  // no device will do: empty, and why not
    std::vector<std::pair<std::string, std::string>> passed_over;  // device, why
    bool automatic = true;  // nobody named a device or a kind
    std::vector<ReportedDevice> devices;
    std::vector<std::pair<std::string, std::string>> frameworks;  // name, version; empty: none
    std::vector<ReportedSetting> settings;
    std::vector<std::string> recommendations;
    struct Probe {
        std::string name, why;  // why it failed; empty: it answered
        double seconds = 0;
    };
    std::vector<Probe> probes;
};

// With `verbose` also the default settings, metadata, times, and why devices were passed over.
[[nodiscard]] std::string device_report(const DeviceReport& report, bool verbose);
[[nodiscard]] std::string device_report_json(const DeviceReport& report);

}  // namespace compat::display
