// What a test that goes otherwise on a simulated device says to whoever ports its code: whether the
// device, the code, the suite or the simulation is the reason, and what to do about it. A table
// (judged()). Pure. Not for why a test fails (parsers/diagnose.h).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "parsers/diagnosis.h"
#include "runner/base/gap.h"

namespace compat::analysis {

enum class Judgement {
    device_limit,     // a real device refuses it, too
    device_handling,  // the code names a device, or mixes two
    device_asserted,  // the suite asks where a tensor is
    unexplained,      // to be looked into
    suite_condition,  // the suite itself decides by the device
    simulator,        // a real device would not say so, or ours is broken
    environment,      // packages, network, memory: not about devices
    flaky             // it changes by itself
};

struct JudgementWords {
    std::string_view name;   // in files
    std::string_view words;  // for people
    bool to_fix;             // by whoever ports the code
};
inline constexpr std::array<JudgementWords, 8> kJudgements{{
    {"device_limit", "genuine limit of the device", true},
    {"device_handling", "the code's handling of devices", true},
    {"device_asserted", "the suite asserts the device's name", true},
    {"unexplained", "not explained", true},
    {"suite_condition", "the suite decides by the device", false},
    {"simulator", "the simulation cannot imitate it", false},
    {"environment", "environment", false},
    {"flaky", "changes by itself", false},
}};
[[nodiscard]] constexpr const JudgementWords& words_of(Judgement j) {
    return kJudgements[static_cast<std::size_t>(j)];
}

// What is told apart among differences that are judged alike.
enum class Grouped {
    together,
    by_rule,  // of the diagnosis
    by_place  // by the failure's signature and the line of the suite's; what was refused, by the
              // gap
};

// A row of the table. What is empty holds for any.
struct Judged {
    std::optional<parsers::Cause> cause{};
    std::string_view rule{};  // id in rules.json
    std::optional<GapKind> gap{};
    std::string_view device{};   // "cuda", "mps"
    bool after_refusal = false;  // holds only for what broke after one
    Judgement judgement = Judgement::unexplained;
    Grouped grouped = Grouped::by_place;
    std::string_view title{};   // empty: the gap's description, or the failure's key line
    std::string_view advice{};  // empty: the gap's
};
[[nodiscard]] std::span<const Judged> judged();

// What is known of why a test failed on a simulated device.
struct Evidence {
    parsers::Cause cause = parsers::Cause::unknown;
    std::string rule;
    std::optional<GapKind> gap;  // where the failure names what was refused
    std::string device;          // which refused, or which was simulated
    // The device refused something within the test, and the failure is not of that.
    bool after_refusal = false;
};

// The first row that holds; the last holds for everything.
[[nodiscard]] const Judged& judge(const Evidence& evidence);

}  // namespace compat::analysis
