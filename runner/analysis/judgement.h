// Judges why a test differs on a simulated device: because of the device, the code, the suite or
// the simulation; and what to do about it. A table (judgement_rules). Pure. Not for why a test
// fails (parsers/diagnosis/diagnose.h).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "parsers/diagnosis/diagnosis.h"
#include "runner/base/gap.h"

namespace compat::analysis {

enum class Judgement {
    device_limit,     // a real device refuses it too
    device_handling,  // the code names a device, or mixes two
    device_asserted,  // the test asserts where a tensor is
    unexplained,
    suite_condition,  // the suite chooses its tests by device
    simulator,        // a real device accepts it, or the shim is broken
    environment,      // packages, network, memory
    flaky,
    redirection,  // a Mac runs the test; it breaks where CUDA requests are sent to MPS
    random        // it breaks on plain CPU too, with some other random numbers
};

struct JudgementWords {
    std::string_view name;   // in files
    std::string_view words;  // for people
    bool to_fix;             // by the person who ports the code
};
inline constexpr std::array<JudgementWords, 10> kJudgements{{
    {"device_limit", "genuine limit of the device", true},
    {"device_handling", "the code's handling of devices", true},
    {"device_asserted", "the suite asserts the device's name", true},
    {"unexplained", "not explained", true},
    {"suite_condition", "the suite decides by the device", false},
    {"simulator", "the simulation cannot imitate it", false},
    {"environment", "environment", false},
    {"flaky", "changes by itself", false},
    {"redirection", "only where CUDA code is sent to MPS", false},
    {"random", "depends on the random numbers", false},
}};
[[nodiscard]] constexpr const JudgementWords& words_of(Judgement j) {
    return kJudgements[static_cast<std::size_t>(j)];
}

// Which failures under one rule of the table have one cause.
enum class Grouping {
    together,     // all
    by_rule,      // those of one rule of the diagnosis
    by_function,  // those of one cause in one function: texts and rules differ between devices
    by_place      // those of one gap; else of one text in one function
};

// Which devices a row is about.
enum class OfDevice {
    any,
    cpu,          // that computes for a simulated device
    serves_cuda,  // its simulation has less than the device
    other         // accelerators, whose simulation refuses what they refuse
};

// A row of the table. An empty condition matches everything.
struct JudgementRule {
    std::optional<parsers::Cause> cause{};
    std::string_view rule{};  // id in rules.json
    std::optional<GapKind> gap{};
    OfDevice device = OfDevice::any;
    bool after_refusal = false;     // matches only failures after a refusal
    bool redirected_alone = false;  // matches only failures of tests that a bare Mac runs
    bool random = false;            // matches only failures about which random numbers decide
    Judgement judgement = Judgement::unexplained;
    Grouping grouping = Grouping::by_place;
    std::string_view title{};   // empty: the gap's description, or the failure's key line
    std::string_view advice{};  // empty: the gap's
    // Other random numbers may explain it: a device has another stream for the same seed.
    bool may_be_random = false;
};
[[nodiscard]] std::span<const JudgementRule> judgement_rules();

struct Evidence {
    parsers::Cause cause = parsers::Cause::unknown;
    std::string rule;
    std::optional<GapKind> gap;     // if the failure names what was refused
    std::string device;             // the one that refused, else the simulated one
    bool after_refusal = false;     // the device refused something else earlier in the test
    bool redirected_alone = false;  // attribution: kRedirectedOnly (ways/attribution.h)
    bool random = false;  // it breaks so on plain CPU too, with some other random numbers
};

// The first rule that matches; the last matches everything.
[[nodiscard]] const JudgementRule& judge(const Evidence& evidence);

}  // namespace compat::analysis
