// A run beside a baseline, as pages show it: what differs in the environment, how many tests are in
// each class, and the tests that differ, grouped by cause. Values in, values out. Not for reading
// runs (runner/compare) nor for devices side by side (porting/porting.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/model.h"
#include "runner/analysis/changes/change_class.h"
#include "runner/analysis/changes/environment.h"

namespace compat::reports {

using analysis::ChangeClass;

struct ComparedRun {
    std::string id, suite, started, torch;
    std::string way;  // "device mps (simulated), fallback on, shim off"
    std::string commit;
    bool complete = true;
    std::int64_t modules = 0, tests = 0;
    StateCounts states{};
    std::vector<BlindSpot> blind_spots{};  // by state and cause, and `generated`
};

// A test whose class is listed (ChangeClassRow::differs).
struct ChangedTest {
    std::string id;           // in the run; in the baseline where the run does not have it
    std::string baseline_id;  // only where it is another, as `test_x[cpu]` for `test_x[mps]`
    ChangeClass change = ChangeClass::regressed;
    std::optional<parsers::State> baseline, run;
    // The cause of the failure that decided the class: the run's, or the baseline's if it is fixed.
    std::optional<parsers::Cause> cause;
    std::string signature;
    std::string why;  // key line of that failure, or why it did not run, or why it is gone
    std::string log;  // of the run that has that failure, relative to that run's folder
    bool pseudo = false;
    std::size_t group = 0;  // index in Comparison::groups
};

// Tests of one class with one cause.
struct ChangeGroup {
    ChangeClass change = ChangeClass::regressed;
    std::string title;
    std::optional<parsers::Cause> cause;
    std::string signature;
    std::vector<std::size_t> tests;  // indices in Comparison::tests
};

struct Comparison {
    ComparedRun run;
    bool environment_known = true;  // false: a run is imported, or of an old runner
    std::vector<analysis::EnvironmentChange> environment;
    std::vector<analysis::CountDrop> drops;
    // Runs whose verdicts were compared with each other to find noise; 0: there are none.
    std::int64_t noise_runs = 0, noisy_tests = 0;
    std::int64_t duplicates = 0;  // tests with the id of another of their run: left out
    // Tests of one run alone, where the other ran another part of the suite: left out.
    std::int64_t not_asked_for = 0;
    analysis::ClassCounts counts{};
    std::vector<ChangedTest> tests;
    std::vector<ChangeGroup> groups;  // by class, then the largest first

    [[nodiscard]] std::int64_t count(ChangeClass c) const {
        return counts[static_cast<std::size_t>(c)];
    }
};

struct CompareView {
    ComparedRun baseline;
    std::string chosen;  // how the baseline was found; empty: it was named
    std::vector<Comparison> columns;
    std::vector<ChangeClass> fail_on;

    // Whether a class of `fail_on` has a test.
    [[nodiscard]] bool fails() const;
};

// Sorts the tests by id and makes the groups.
void group_tests(Comparison& comparison);

// For a terminal: every class and cause, and at most `tests` tests of each.
[[nodiscard]] std::string compare_text(const CompareView& view, std::size_t tests);
// At most `max_bytes`, except for its first part, and says what it leaves out.
[[nodiscard]] std::string compare_markdown(const CompareView& view, std::size_t max_bytes);
// As a part of a run's report, whose `columns` is that run alone. At most `groups` causes, and
// `tests` tests of each; says what it leaves out.
struct ChangesText {
    std::string intro;
    std::vector<std::string> groups;  // one for each cause
};
[[nodiscard]] ChangesText changes_markdown(const CompareView& view, std::size_t groups,
                                           std::size_t tests);
// Described by reports/schemas/compare.schema.json.
inline constexpr int kCompareFormat = 1;
[[nodiscard]] std::string compare_json(const CompareView& view);

}  // namespace compat::reports
