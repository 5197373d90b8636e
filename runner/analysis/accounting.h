// Checks that every test is accounted for: collected = sum over states, and the framework's closing
// line says what that version prints for our events. Pure. Not for parsing the closing line
// (parsers/framework_summary.h) nor for the exit code of a mismatch (verdict.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "parsers/outcomes.h"
#include "parsers/record.h"

namespace compat::analysis {

using StateCounts = parsers::OutcomeCounts;

// Two counts of the same thing that differ.
struct Mismatch {
    // "collected", "events" (gone), "ran", a word of the closing line ("failures", "passed"), or
    // a diagnostic with its offset as `ours`: the reader of a text was in doubt
    // (parsers/import/doubt.h), or the files of an attempt contradict each other (parsers/text.h).
    std::string what;
    std::int64_t ours = 0;
    std::int64_t theirs = 0;

    // "failures: 3 by its tests, 2 by the framework's closing line".
    [[nodiscard]] std::string text() const;
    friend bool operator==(const Mismatch&, const Mismatch&) = default;
};

struct ModuleAccounting {
    std::int64_t collected = 0;  // announced by the harness, pseudo-cases included
    StateCounts states{};        // by parsers::State
    std::vector<Mismatch> mismatches;

    [[nodiscard]] bool closed() const { return mismatches.empty(); }
};

// The closing line that the framework must print for this record. Nothing if it had not finished
// (crash, time-out, interrupt, early load failure) or if its closing line is not known to us. The
// rules, checked against Python 3.9 to 3.13 and pytest 7 to 9:
//  - unittest's `Ran` counts the tests that it started: none under a failed or skipped class or
//    module fixture; in Python 3.12.1 also none that a decorator skips.
//  - A broken class or module set-up is one error (a skip: one skip) for all its tests; each broken
//    clean-up of it is one more.
//  - Each failure of a test counts: its own, its tear-down's and those of its sub-tests. A skipped
//    test with a broken tear-down counts as both.
//  - pytest counts the outcome of the call and each broken set-up or tear-down. Failed sub-tests
//    count beside their test, skipped and xfailed ones may; our totals have no sub-tests.
//  - GoogleTest and CTest count the tests that they began, so no disabled one. GoogleTest counts
//    tests that a global set-up prevented as passed.
//  - A closing line with the word "tests" is the totals of a JUnit XML file
//  (parsers/import/junit/junit_xml.h).
//    GoogleTest and CTest count each test once; CTest counts tests that did not run as skipped. The
//    others count each outcome: pytest's `tests` leaves out some tear-downs that broke
//    (parsers/outcomes.h), Surefire has each attempt at a test, unittest-xml-reporting counts an
//    unexpected success as an error and only the broken sub-tests of a test that has some. An
//    unknown writer may do either.
[[nodiscard]] std::optional<parsers::FrameworkSummary> expected_closing(
    const parsers::ModuleRecord& record);

// A finished module without a closing line (output closed or redirected, log cut) is no mismatch:
// the parsers give a diagnostic. Not compared: warnings, deselected tests and passing sub-tests in
// pytest's line, and an excess in pytest's `tests`, which includes passing sub-tests.
[[nodiscard]] ModuleAccounting account(const parsers::ModuleRecord& record);

// Sums over the modules of a run.
struct Totals {
    std::int64_t modules = 0;
    std::int64_t collected = 0;
    StateCounts states{};
    StateCounts rows{};  // as `states`, a row of tests without names counted once
    std::int64_t flaky = 0;
    std::int64_t device = 0;
    std::int64_t fallback = 0;
    std::int64_t race = 0;
    std::int64_t redirected = 0;
    std::int64_t untouched = 0;
    std::int64_t generated = 0;

    friend bool operator==(const Totals&, const Totals&) = default;
};

// `flaky`: how many tests of the module passed only in a later attempt.
void add(Totals& totals, const parsers::ModuleRecord& record, std::int64_t flaky = 0);

}  // namespace compat::analysis
