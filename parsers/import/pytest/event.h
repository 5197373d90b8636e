// What one line of what pytest prints is: an event, told by the line alone. Not for what it means
// where it stands (reader.h).
#pragma once

#include <optional>
#include <string_view>

#include "parsers/import/pytest/line.h"

namespace compat::parsers {

struct PytestEvent {
    enum class Kind {
        text,        // none of these
        start,       // "=== test session starts ===", also behind what a test printed
        platform,    // "platform linux -- Python 3.11.7, pytest-8.4.2, pluggy-1.5.0"
        root,        // "rootdir: /home/me/project, …": the folder is `rest`
        collected,   // "collected 5 items / 1 skipped", "2 workers [5 items]"
        node,        // "test_a.py::test_x PASSED  [ 50%]"
        outcome,     // "PASSED": of a test that had printed (-s)
        characters,  // "test_a.py ..F", "..F"
        heading,     // "=== FAILURES ===": the words are `rest`
        section,     // "___ test_x ___"
        captured,    // "--- Captured stdout call ---"
        stopped,     // "!!! stopping after 1 failures !!!"
        closing,     // "=== 1 failed, 2 passed in 0.1s ===", with -q without the frame
        timeout,     // "+++ Timeout +++" of pytest-timeout, which ends the process
        internal,    // "INTERNALERROR> …"
        conftest,    // "ImportError while loading conftest '…": there is no session
        announced,   // "Running test_ops 1/2 ... [time]": PyTorch's script starts a file
    };
    Kind kind = Kind::text;
    std::string_view line;
    std::string_view rest{};
    std::optional<PytestNode> node{};
    std::optional<PytestStatus> status{};  // outcome
    std::optional<PytestCharacters> characters{};
    std::optional<Closing> closing{};
    bool framed = false;  // closing
};

[[nodiscard]] PytestEvent pytest_event_of(std::string_view line);

// How many columns a line takes, if none of its characters is wide: pytest counts them so.
[[nodiscard]] size_t columns_of(std::string_view line);

// Whether a rule ("=== text ===") is as wide as pytest draws it on a terminal of `width` columns:
// exactly that, or wider if its text alone is. A width of 0 is unknown.
[[nodiscard]] bool fills_terminal(std::string_view line, size_t width);

}  // namespace compat::parsers
