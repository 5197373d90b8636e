// The conditions of an expectation (`when`), and what they are compared with: the run's stored
// facts. A table. Pure. Not for which of several entries applies (judge.h).
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/expectation.h"
#include "runner/base/names.h"

namespace compat::analysis {

enum class ConditionType {
    word,     // equal
    version,  // in a range: ">=2.1,<2.5", "==2.13.*"
    on_off    // true or false in the file
};

struct ConditionRow {
    std::string_view name;
    ConditionType type;
    std::string_view means;
};
inline constexpr std::array<ConditionRow, 10> kConditions{{
    {"device", ConditionType::word, "the device of the run, the simulated one where one is"},
    {"simulated", ConditionType::word, "the simulated device; `off`: none is simulated"},
    {"torch", ConditionType::version, "version of torch"},
    {"python", ConditionType::version, "version of Python"},
    {"os", ConditionType::word, "`linux` or `macos`"},
    {"machine", ConditionType::word, "machine as `uname -m` prints it, such as `x86_64`"},
    {"framework", ConditionType::word, "test framework"},
    {"policy", ConditionType::word, "what is redirected; none without the shim"},
    {"shim", ConditionType::on_off, "whether the shim was loaded"},
    {"fallback", ConditionType::on_off, "whether operators that MPS lacks ran on the CPU"},
}};

// A run, as conditions see it.
struct Circumstances {
    std::map<std::string, std::string, std::less<>> facts;  // by the condition's name
    std::string date;                                       // of its start, "2026-11-25"
};

// "2.13.0" is in ">=2.1,<2.14". Only the leading numbers of a version count: "2.14.0a0+git" is
// 2.14.0, and missing ones are 0. False where the version or the range cannot be read.
[[nodiscard]] bool version_in(std::string_view version, std::string_view range);

[[nodiscard]] bool conditions_hold(const Expectation& entry, const Circumstances& run);

// Whether the day of the run is after the entry's last one.
[[nodiscard]] bool is_expired(const Expectation& entry, const Circumstances& run);

// "python" and the system's name, from a run's fingerprint.
void add_fingerprint(Circumstances& to, std::string_view fingerprint);

// `info`: a store::RunInfo.
template <class Info>
[[nodiscard]] Circumstances circumstances_of(const Info& info) {
    Circumstances run;
    const std::string simulated = info.simulated.value_or("");
    run.facts = {{"device", simulated.empty() ? info.device : simulated},
                 {"simulated", simulated.empty() ? "off" : simulated},
                 {"torch", info.torch},
                 {"framework", info.framework},
                 {"policy", info.policy},
                 {"shim", info.shim ? "on" : "off"},
                 {"fallback", info.fallback ? "on" : "off"}};
    run.date = iso8601(info.started).substr(0, 10);
    add_fingerprint(run, info.fingerprint);
    return run;
}

// The conditions under which nothing but this device's runs see an entry.
[[nodiscard]] std::map<std::string, std::vector<std::string>> conditions_of_device(
    const Circumstances& run);

// A run's entries as they are stored with it: a JSON array. Empty text: none.
[[nodiscard]] std::string to_stored(const std::vector<Expectation>& entries);
[[nodiscard]] std::vector<Expectation> from_stored(std::string_view text);

}  // namespace compat::analysis
