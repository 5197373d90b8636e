// One line of what pytest prints while tests run, of any verbosity: a test with its outcome, a
// file with the characters of its tests; and of its closing summary. Not for sections (failure.h)
// nor for what becomes of it (session.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "parsers/record.h"

namespace compat::parsers {

struct PytestStatus {
    State state = State::passed;
    std::string reason;
    double duration_s = 0;
};

// "PASSED", "SKIPPED (reason)", of PyTorch's own plugin "PASSED [0.0123s]", each with or without
// pytest's progress after it.
[[nodiscard]] std::optional<PytestStatus> pytest_status_of(std::string_view text);

// An outcome at the end of a line whose beginning a test has printed: "epoch 1PASSED".
[[nodiscard]] std::optional<PytestStatus> pytest_status_at_end(std::string_view line);

// An outcome behind which a tear-down has printed on: "PASSEDclosed"; and in the midst of a line,
// the last one: "epoch 1PASSEDclosed".
[[nodiscard]] std::optional<PytestStatus> pytest_status_at_start(std::string_view line);
[[nodiscard]] std::optional<PytestStatus> pytest_status_within(std::string_view line);

struct PytestNode {
    std::string_view node{};  // "tests/test_a.py::A::test_x[p q]"
    std::optional<PytestStatus> status{};
    std::string_view output{};  // where it has no outcome: what the test printed behind its name
    // What stands there is of a sub-test; its status is set if it failed.
    bool of_subtest = false;
    bool of_worker = false;  // "[gw0]"
    bool unsure = false;     // the name may go on to an outcome at the end of `output`
};

// "tests/test_a.py::A::test_x[p q] PASSED   [ 3%]", also without its outcome; of pytest-xdist
// "[gw0] [ 3%] PASSED tests/test_a.py::A::test_x". A file with a blank in its path is known by the
// outcome at the end.
[[nodiscard]] std::optional<PytestNode> pytest_node_of(std::string_view line);

// "tests/test_a.py ..F   [ 50%]", and of a line that only goes on with it, or with -q, "..F".
struct PytestCharacters {
    std::string_view file{};
    std::string_view characters{};
    bool has_progress = false;  // "[ 50%]" behind them
    bool is_last = false;       // "[100%]"
};
[[nodiscard]] std::optional<PytestCharacters> pytest_characters_of(std::string_view line);

// Where, behind characters or a test's line, another's words begin: those with which Python dies,
// pytest's own failure, pytest-timeout's. The size where none do.
[[nodiscard]] size_t end_of_result(std::string_view line);

// The state that a character gives; nothing for one that is a sub-test's or none.
[[nodiscard]] std::optional<State> pytest_state_of(char progress);

// A line of "short test summary info".
struct PytestSummary {
    State state = State::passed;
    std::string_view text;   // what follows the word: "tests/test_a.py::test_x - why"
    std::int64_t count = 0;  // SKIPPED [2] tests/test_a.py:4: why
    bool of_subtest = false;
    std::string_view label;  // of the sub-test: "[message] (i=1)"
};
[[nodiscard]] std::optional<PytestSummary> pytest_summary_of(std::string_view line);

// Where the label of a sub-test begins in "test_x[p q] [message] (i=1)"; the size where it has
// none.
[[nodiscard]] size_t subtest_label(std::string_view text);

// The node in "tests/test_a.py::test_x[a - b] - why", and what follows it.
struct SummaryText {
    std::string_view node;
    std::string_view why;
};
// Parameters may hold " - " behind a bracket, too: of these the one is taken whose node `is_known`.
[[nodiscard]] SummaryText split_summary(State state, std::string_view text,
                                        const std::function<bool(std::string_view)>& is_known);

// The text in "=== text ===" or "___ text ___"; empty where the line is no such rule.
[[nodiscard]] std::string_view pytest_ruled(std::string_view line, char rule);

}  // namespace compat::parsers
