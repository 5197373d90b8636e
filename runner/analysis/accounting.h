// Whether every test is accounted for: collected = sum over states, and the framework's own closing
// line says what that version of the framework would say of our events. Pure. Not for finding the
// closing line (parsers/closing.h) nor for what a mismatch does to the exit code (verdict.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "parsers/record.h"

namespace compat::analysis {

using StateCounts = std::array<std::int64_t, parsers::kStateNames.size()>;

// Two counts of the same thing that differ.
struct Mismatch {
    std::string what;  // "collected", "events" (gone), "ran", or a word of the closing line:
                       // "failures", "passed"
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

// What the framework must print for what we know of this module; nothing where it must print
// nothing: it had not finished (crash, time-out, interrupt, load failure before it began), or it is
// none whose closing line we know. The rules, checked against Python 3.9 to 3.13 and pytest 7 to 9:
//  - unittest's `Ran` counts the tests that it started. Those under a failed or skipped class or
//    module fixture never are; in Python 3.12.1 alone, neither are those that a decorator skips.
//  - A class or module set-up that breaks is one error (a skip: one skip), whatever it covers; each
//    of its clean-ups that breaks is one more.
//  - Each failure of one test counts: its own, its tear-down's, each of its sub-tests'. A test that
//  is
//    skipped and whose tear-down breaks counts as both.
//  - pytest counts the outcome of the call and each broken set-up or tear-down for itself.
//  Sub-tests
//    that fail or are skipped count beside their test; those that pass are in no total of ours.
//  - GoogleTest and CTest count the tests that they began; a disabled one never is. Those that a
//    global set-up kept from beginning GoogleTest counts as passed.
//  - Where the closing has the word "tests", it is the totals of a JUnit XML file, as
//    parsers/junit_xml.h names them. GoogleTest and CTest count each of their tests once, CTest
//    with what it did not run among the skipped. The others count each outcome: pytest's `tests`
//    leaves out a tear-down that broke after a failed call, Surefire has each attempt at a test,
//    unittest-xml-reporting has an unexpected success among the errors and, of a test with
//    sub-tests that were not good, these alone. A writer that is not known may do either.
[[nodiscard]] std::optional<parsers::Closing> expected_closing(const parsers::ModuleRecord& record);

// A module that finished without a closing line in its log (its output was closed or redirected, or
// the log was cut) is not a mismatch; the parsers give a diagnostic. Warnings, deselected tests and
// passing sub-tests in pytest's line are not compared; nor is what pytest's `tests` has too much,
// since it counts passing sub-tests there.
[[nodiscard]] ModuleAccounting account(const parsers::ModuleRecord& record);

// Sums over modules, for the closing lines of a run and the head of a report.
struct Totals {
    std::int64_t modules = 0;
    std::int64_t collected = 0;
    StateCounts states{};
    std::int64_t flaky = 0;
    std::int64_t device = 0;
    std::int64_t fallback = 0;
    std::int64_t redirected = 0;
    std::int64_t untouched = 0;

    friend bool operator==(const Totals&, const Totals&) = default;
};

// `flaky` is the number of the module's tests that passed only in a later attempt.
void add(Totals& totals, const parsers::ModuleRecord& record, std::int64_t flaky = 0);

}  // namespace compat::analysis
