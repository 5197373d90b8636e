// One line that a GoogleTest binary prints as an event: "[ RUN      ] A.b" is the start of A.b. Not
// for what the events say of a test (googletest_text.h).
#pragma once

#include <cstdint>
#include <string_view>

namespace compat::parsers::googletest {

enum class Kind {
    output,  // any other text
    header,
    closing,
    suite_end,
    suite,
    leaving,
    run,
    ok,
    broken_suite,
    failed,
    skipped,
    disabled,
    main,
    repeating,
    hidden
};

struct Event {
    Kind kind = Kind::output;
    size_t begin = 0;         // what stands before it in the line is output of a test
    std::string_view name;    // of the test or suite
    std::int64_t number = 0;  // of tests in header and hidden; the iteration of repeating; else ms
};

[[nodiscard]] inline bool is_end(Kind kind) {
    return kind == Kind::ok || kind == Kind::failed || kind == Kind::skipped;
}

// "[ RUN      ] …" and the like.
[[nodiscard]] bool begins_with_mark(std::string_view line);

// The last event in the line, as what a test prints without a newline stands before GoogleTest's
// own words. The name points into the line.
[[nodiscard]] Event event_of(std::string_view line);

}  // namespace compat::parsers::googletest
