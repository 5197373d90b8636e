// What GoogleTest prints as tokens: the marks of its lines ("[ RUN      ] "), and the lines without
// one that count. Not for what they say of a test: googletest_text.cc.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace compat::parsers::googletest {

enum class Kind {
    header,     // "[==========] Running 5 tests from 2 test suites."
    closing,    // "[==========] 5 tests from 2 test suites ran. (3 ms total)"
    suite,      // "[----------] 2 tests from Suite, where TypeParam = int"
    suite_end,  // "[----------] 2 tests from Suite (3 ms total)"
    leaving,    // "[----------] Global test environment tear-down"
    run,
    ok,
    failed,
    skipped,
    disabled,
    broken_suite,  // "[  FAILED  ] Suite: SetUpTestSuite or TearDownTestSuite"
    main,          // "Running main() from gtest_main.cc"
    repeating,     // "Repeating all tests (iteration 1) . . ."
    hidden         // "  YOU HAVE 2 DISABLED TESTS"
};

struct Token {
    Kind kind;
    size_t offset;          // of the mark
    size_t after;           // of the line's end
    std::string_view name;  // of the test or suite; else what follows the mark
    double seconds = 0;
    std::int64_t count = 0;  // of header and hidden; the iteration of repeating
    size_t next = 0;         // the next token about the same test; 0: none
};

[[nodiscard]] inline bool is_end(Kind kind) {
    return kind == Kind::ok || kind == Kind::failed || kind == Kind::skipped;
}

struct Tokens {
    std::vector<Token> all;             // in the order of the text
    std::deque<std::string> unescaped;  // what names in lines with escapes point to
};

// "[ RUN      ] …" and the like.
[[nodiscard]] bool begins_with_mark(std::string_view line);

// The names point into the text, which must live as long.
[[nodiscard]] Tokens tokens_of(std::string_view text);

}  // namespace compat::parsers::googletest
