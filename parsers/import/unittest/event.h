// One line of the text of unittest's runner, or of the package unittest-xml-reporting, as an
// event, told by the line alone. Not for what it means where it stands (run.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "parsers/import/unittest/names.h"

namespace compat::parsers {

// "ok", "skipped 'why'", and of unittest-xml-reporting "skip: why (0.012s)".
struct UnittestStatus {
    State state = State::passed;
    std::string reason;
    double duration_s = 0;
};

struct UnittestEvent {
    enum class Kind {
        text,         // none of these
        blank,        //
        rule,         // "------"
        double_rule,  // "======"
        title,        // "FAIL: test_x (m.A.test_x)", under a double rule
        test,         // "test_x (m.A.test_x) ... ": what follows is `rest`
        heading,      // "test_x (m.A.test_x)": its docstring follows on the next line
        subtest,      // "  test_x (m.A.test_x) (i=1) ... FAIL": its label is `rest`
        status,       // "ok", "skipped 'why'"
        ran,          // "Ran 3 tests in 0.1s", under a rule
        announced,    // PyTorch's script starts a file (lines.h), which is `file`
    };
    Kind kind = Kind::text;
    std::string_view line;
    std::optional<UnittestHeader> header{};  // test, heading, subtest; title: if it has one
    UnittestStatus status{};                 // status, subtest; title: the state, with the seconds
    std::string_view rest{};                 // title: what stands behind the word; test; subtest
    std::string file{};
};

[[nodiscard]] UnittestEvent unittest_event_of(std::string_view line);

// A status that is all there is, and one at the end of a line whose beginning a test has printed.
[[nodiscard]] std::optional<UnittestStatus> unittest_status_of(std::string_view text);
[[nodiscard]] std::optional<UnittestStatus> unittest_status_at_end(std::string_view line);

}  // namespace compat::parsers
