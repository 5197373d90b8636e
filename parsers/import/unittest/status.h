// How unittest's text runner says what became of a test, and that of the package
// unittest-xml-reporting: "ok", "skipped 'why'", "skip: why (0.012s)". Not for whose test it is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "parsers/record.h"

namespace compat::parsers {

struct UnittestStatus {
    State state = State::passed;
    std::string reason;
    double duration_s = 0;
};

// A status that is all there is.
[[nodiscard]] std::optional<UnittestStatus> unittest_status_of(std::string_view text);

// A status at the end of a line whose beginning a test has printed.
[[nodiscard]] std::optional<UnittestStatus> unittest_status_at_end(std::string_view line);

// The state that a character of a run that is not verbose gives; nothing for any other.
[[nodiscard]] std::optional<State> unittest_state_of(char progress);
[[nodiscard]] inline bool is_unittest_progress(char c) { return unittest_state_of(c).has_value(); }

// Whether a section under a rule tells of such a test.
[[nodiscard]] inline bool broke(State state) {
    return state == State::failed || state == State::errored;
}

// Seconds as the runners print them: 0.012 of "0.012s".
[[nodiscard]] std::optional<double> seconds_of(std::string_view text);

}  // namespace compat::parsers
