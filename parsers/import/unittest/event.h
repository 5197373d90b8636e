// What one line of the text of unittest's runner is, or of the package unittest-xml-reporting: an
// event, told by the line alone. Not for what it means where it stands (reader.h).
#pragma once

#include <optional>
#include <string_view>

#include "parsers/import/unittest/header.h"
#include "parsers/import/unittest/status.h"

namespace compat::parsers {

struct UnittestEvent {
    enum class Kind {
        text,         // none of these
        blank,        //
        rule,         // "------"
        double_rule,  // "======"
        title,        // "FAIL: test_x (m.A.test_x)", under a double rule
        test,         // "test_x (m.A.test_x) ... ": what follows is `rest`
        heading,      // "test_x (m.A.test_x)": its docstring follows on the next line
        subtest,      // "  test_x (m.A.test_x) (i=1) ... FAIL"
        status,       // "ok", "skipped 'why'"
        ran,          // "Ran 3 tests in 0.1s", under a rule
        captured,     // "Stdout:": what a test that broke had printed follows (-b)
        durations,    // "Slowest test durations"
        duration,     // "0.012s     test_x (m.A.test_x)"
        characters,   // "..F"
        announced,    // "Running test_ops 1/2 ... [time]": PyTorch's script starts a file
        begins,       // "Running tests...", over a rule: unittest-xml-reporting's first line
    };
    Kind kind = Kind::text;
    std::string_view line;
    std::optional<UnittestHeader>
        header{};  // test, heading, subtest, duration; title: if it has one
    std::optional<UnittestStatus> status{};  // status, subtest; title: the state, with the seconds
    // title: what stands behind the word; test: behind " ... "; announced: the file, without
    // ".py"; subtest: its label
    std::string_view rest{};
    double seconds = 0;  // duration
};

[[nodiscard]] UnittestEvent unittest_event_of(std::string_view line);

// The file in "Running distributed/test_ops 1/2 ... [2024-05-01 12:34:56.123456]", with which the
// script that starts PyTorch's test files announces each; empty: it is no such line.
[[nodiscard]] std::string_view announced_file(std::string_view line);

}  // namespace compat::parsers
