// How a test's result in a run differs from its result in a baseline: one class for each test. It
// refines Change (comparison.h), which knows states alone, by the failures' signatures and causes
// and by noise. Pure. Not for who the baseline is (runner/compare) nor for what a device
// breaks (judgement.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "parsers/diagnosis/diagnosis.h"
#include "parsers/record.h"

namespace compat::analysis {

// In the order in which people should read them.
enum class ChangeClass {
    regressed,
    new_failing,
    still_failing_changed,
    gone,
    newly_skipped,
    fixed,
    new_passing,
    newly_run,
    flaky,
    spurious,
    still_failing_same,
    unchanged
};
struct ChangeClassRow {
    std::string_view name;   // in files and options
    std::string_view means;  // for people
    bool bad;                // what `--fail-on bad` stands for
    bool differs;            // listed test by test
};
inline constexpr std::array<ChangeClassRow, 12> kChangeClasses{{
    {"regressed", "was good, breaks now", true, true},
    {"new_failing", "breaks now; was skipped, not run or not collected", true, true},
    {"still_failing_changed", "broke and breaks, with another signature", false, true},
    {"gone", "is no longer collected", false, true},
    {"newly_skipped", "is skipped or not run; ran before, or is new", false, true},
    {"fixed", "broke, is good now", false, true},
    {"new_passing", "is good; was not collected", false, true},
    {"newly_run", "is good; was skipped or not run", false, true},
    {"flaky", "passes only when retried, or differs between runs that differ in nothing", false,
     true},
    {"spurious", "memory, disk, network, a time limit or the runner itself ended it in either run",
     false, true},
    {"still_failing_same", "broke and breaks, with the same signature", false, false},
    {"unchanged", "is as good, or as idle, as before", false, false},
}};
[[nodiscard]] constexpr const ChangeClassRow& row_of(ChangeClass c) {
    return kChangeClasses[static_cast<std::size_t>(c)];
}
[[nodiscard]] constexpr std::string_view name_of(ChangeClass c) { return row_of(c).name; }
[[nodiscard]] std::optional<ChangeClass> change_class_of(std::string_view name);

using ClassCounts = std::array<std::int64_t, kChangeClasses.size()>;

// A test in one of the two runs.
struct ComparedTest {
    parsers::State state = parsers::State::not_run;
    std::string_view signature{};           // of the failure that decides; empty: none
    std::optional<parsers::Cause> cause{};  // of the same
    bool flaky = false;                     // passed only when retried
    bool generated = false;                 // used what the hub had generated
    bool blames_generated = false;          // the failure: real weights or data are needed
};

struct TestInTwoRuns {
    std::optional<ComparedTest> baseline, run;  // empty: the run does not have the test
    bool noisy = false;  // its state differed between runs that differ in nothing (A/A)
    // The run that lacks the test, or did not run it, did not get to it: a time limit, an
    // interruption or the runner itself ended its module. Says nothing of a test that ran in both.
    bool lost_by_accident = false;
};

// Whether memory, disk, network, a time limit or the runner ended the test.
[[nodiscard]] bool ended_by_accident(const ComparedTest& test);

// The test is in at least one of the runs.
[[nodiscard]] ChangeClass change_class(const TestInTwoRuns& test);

}  // namespace compat::analysis
