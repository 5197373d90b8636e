// One line of pytest's output as an event, recognised by the line alone. Not for what it means
// where it stands (text.cc).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "parsers/record.h"

namespace compat::parsers {

struct PytestStatus {
    State state = State::passed;  // not_run: it runs again (pytest-rerunfailures)
    std::string reason;
    double duration_s = 0;
};

struct PytestEvent {
    enum class Kind {
        text,       // none of these
        start,      // "=== test session starts ===", behind `rest`, which a test printed
        platform,   // "platform linux -- Python 3.11.7, pytest-8.4.2": the versions; `rest`, `name`
        root,       // "rootdir: /home/me/project, …": the folder is `rest`
        collected,  // "collected 5 items / 1 skipped": the number is `name`, what follows `rest`
        workers,    // "2 workers [5 items]", "gw0 [5] / gw1 [5]": the number is `name`
        node,       // "test_a.py::test_x PASSED  [ 50%]": without a status, `rest` is its output
        subtest,    // "test_a.py::test_x SUBFAILED[m] (i=1)": its label is `rest`
        outcome,    // "PASSED": of a test that had printed (-s)
        heading,    // "=== FAILURES ===": the words are `rest`
        section,    // "___ test_x ___"
        captured,   // "--- Captured stdout call ---"
        stopped,    // "!!! stopping after 1 failures !!!"
        closing,    // "=== 1 failed, 2 passed in 0.1s ===", with -q without the frame
        internal,   // "INTERNALERROR> …"
        conftest,   // "ImportError while loading conftest '…": there is no session
        announced,  // PyTorch's script starts a file (lines.h), which is `file`
    };
    Kind kind = Kind::text;
    std::string_view line;
    std::string_view name{};  // node, subtest: "tests/test_a.py::A::test_x[p q]"
    std::string_view rest{};
    std::optional<PytestStatus> status{};  // node, outcome, subtest
    bool of_worker = false;                // node, subtest: "[gw0] [ 50%] PASSED …"
    bool framed = false;                   // closing
    std::optional<FrameworkSummary> closing{};
    std::string file{};
};

[[nodiscard]] PytestEvent pytest_event_of(std::string_view line);

// A line of "short test summary info".
struct PytestSummary {
    State state = State::passed;
    std::string text;  // what follows the word: "tests/test_a.py::test_x - why"
    bool of_subtest = false;
    std::string label;  // of the sub-test: "[message] (i=1)"
};
[[nodiscard]] std::optional<PytestSummary> pytest_summary_of(std::string_view line);

// The node in "tests/test_a.py::test_x[a - b] - why", and what follows it. Parameters may hold
// " - ", too: of several the one is taken whose node `is_known`.
struct SummaryText {
    std::string_view node;
    std::string_view why;
};
[[nodiscard]] SummaryText split_summary(const PytestSummary& summary,
                                        const std::function<bool(std::string_view)>& is_known);

}  // namespace compat::parsers
