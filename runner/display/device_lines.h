// Describes the devices of a run, and those that device-probe printed
// (docs/reference/file-formats.md). Pure. Not for running it (prepare::probe_devices).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/run/subset.h"

namespace compat::display {

// One line per device, then one per failed query. Text of an unknown format becomes one line that
// says so.
[[nodiscard]] std::vector<std::string> device_lines(std::string_view json);

// "redirects missing devices": the effect of a policy of the shim.
[[nodiscard]] std::string describe_policy(std::string_view policy);

// How a run ran, each as store::RunInfo has it.
struct Way {
    std::string device;
    std::optional<std::string> simulated;
    bool shim = true;
    std::string policy;
    bool fallback = true;
    bool imported = false;
    std::string isolation = "off";
    bool network = true;
    Subset subset{};
};

// "device mps (simulated), fallback on, shim redirects missing devices, isolation sandbox, only
// tests/test_a.py -k add"
[[nodiscard]] std::string words_of(const Way& way);

// The same for a store::RunInfo or a store::RunSummary.
template <class Run>
[[nodiscard]] std::string describe_way(const Run& run) {
    const bool imported = [&] {
        if constexpr (requires { run.imported; })
            return run.imported;
        else
            return run.rerun_argv.empty();
    }();
    return words_of({run.device, run.simulated, run.shim, run.policy, run.fallback, imported,
                     run.isolation, run.network, run.subset});
}

}  // namespace compat::display
