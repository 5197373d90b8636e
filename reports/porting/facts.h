// Facts about a test's result in one column that decide the cause of a difference. Not for the
// causes themselves (parts.h).
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "reports/model.h"
#include "runner/analysis/judgement.h"
#include "runner/base/gap.h"

namespace compat::reports {

// The facts of one failure, or of one refusal that was not raised.
struct FailureFacts {
    analysis::Evidence evidence;
    std::optional<GapKey> gap;
    std::string type, cause, error_class, rule, signature, key_line;
    std::string place;                // "file:line" of the suite's innermost frame; may be empty
    std::string place_url;            // empty: the place is not in the suite, or has no link
    std::string function;             // "file.py:function" of it; may be empty
    std::set<std::string> refused{};  // symbols that the device refused earlier in the test
    bool perhaps_random = false;      // only streams of random numbers can tell (RandomStreams)
    int streams = 0;                  // of random numbers that its test was run with on plain CPU
    int failed_streams = 0;           // those with which it broke in the same way
    // The cause if nothing that the hub generated is to blame; empty: nothing generated is.
    std::optional<parsers::Cause> without_generated{};
};

// The text of a failure without what differs between devices and runs: one mistake has one,
// wherever it shows.
[[nodiscard]] std::string text_of_mistake(const FailureFacts& failure);

// Whether both are one obstacle: one gap, or one text.
[[nodiscard]] bool is_same_obstacle(const FailureFacts& a, const FailureFacts& b);

// Whether other random numbers may explain such a failure.
[[nodiscard]] bool may_be_random(const FailureFacts& failure);

// Whether a test breaks in one way in two runs: by one type of exception, with one signature or at
// one line of the suite.
[[nodiscard]] bool breaks_in_one_way(const FailureFacts& a, const FailureFacts& b);

// Whether a test breaks by the same obstacles in two runs.
[[nodiscard]] bool breaks_alike(const std::vector<FailureFacts>& a,
                                const std::vector<FailureFacts>& b);

// The details of a test's result in one column.
struct ResultDetails {
    std::vector<FailureFacts> failures{};  // empty: it did not break
    std::string key_line{};                // or the reason
    std::string place{}, place_url{}, reproduce{};
    std::string id{};                               // in its own run
    std::string redirected_at{}, redirected_url{};  // CaseView's
};

[[nodiscard]] ResultDetails details_of(const CaseView& test, const RunView& run);
[[nodiscard]] FailureFacts facts_of_refusal(const RefusalView& refusal, const RunView& run);

// The rule of rules.json for a device that is not there.
inline constexpr std::string_view kNoDeviceRule = "no-device";

// Whether a device is missing, and nothing else is known to be wrong.
[[nodiscard]] bool needs_a_device(const ResultDetails& details);
[[nodiscard]] bool is_refused_by_device(const ResultDetails& details, const RunView& run);

}  // namespace compat::reports
