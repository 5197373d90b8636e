// Differences between the environments of two runs, by their stored fingerprints: host, Python,
// torch, packages, settings. Also whether a run has fewer modules or tests than the past explains.
// Pure. Not for taking a fingerprint (runner/run/fingerprint.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace compat::analysis {

struct EnvironmentChange {
    std::string name;  // "torch.version", "packages.numpy", "settings.jobs"
    // As text, JSON's where it is no string; empty: it is not there.
    std::optional<std::string> baseline, run;

    friend bool operator==(const EnvironmentChange&, const EnvironmentChange&) = default;
};

// Torch, Python and packages first, then the host, then the rest, by name. Leaves out values that
// change by themselves (`volatile`), and where or how results are shown. Both arguments are JSON
// objects; another text has no entries.
[[nodiscard]] std::vector<EnvironmentChange> environment_changes(std::string_view baseline,
                                                                 std::string_view run);

// Whether the fingerprint says anything; that of an imported run does not.
[[nodiscard]] bool has_fingerprint(std::string_view fingerprint);

struct CountDrop {
    std::string_view what;  // "module", "test"
    std::int64_t baseline = 0, run = 0;
    std::int64_t spread = 0;  // between the most and the fewest of the past runs

    friend bool operator==(const CountDrop&, const CountDrop&) = default;
};

// A drop from the baseline that is larger than the spread of the past runs' counts. Empty: none.
[[nodiscard]] std::optional<CountDrop> count_drop(std::string_view what, std::int64_t baseline,
                                                  std::int64_t run,
                                                  std::span<const std::int64_t> past);

}  // namespace compat::analysis
