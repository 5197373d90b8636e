#include "runner/analysis/changes/change_class.h"

#include <algorithm>

#include "runner/analysis/comparison.h"

namespace compat::analysis {

using parsers::Cause;
using parsers::State;

namespace {

// By the kind of the baseline's state, then by that of the run's; the last of each: absent.
using Class = ChangeClass;
constexpr Class kClassTable[4][4] = {
    {Class::unchanged, Class::regressed, Class::newly_skipped, Class::gone},          // good
    {Class::fixed, Class::still_failing_same, Class::newly_skipped, Class::gone},     // broken
    {Class::newly_run, Class::new_failing, Class::unchanged, Class::gone},            // idle
    {Class::new_passing, Class::new_failing, Class::newly_skipped, Class::unchanged}  // absent
};

constexpr std::array kAccidents{Cause::resource, Cause::timeout, Cause::hub, Cause::infrastructure};

std::size_t kind_index(const std::optional<ComparedTest>& test) {
    return test ? static_cast<std::size_t>(kind_of(test->state)) : std::size_t{3};
}

// A comparison that another run passed with generated weights or data needs no real ones.
bool is_accident(const std::optional<ComparedTest>& test,
                 const std::optional<ComparedTest>& other) {
    if (!test || !ended_by_accident(*test)) return false;
    return !(test->blames_generated && other && other->generated &&
             kind_of(other->state) == StateKind::good);
}

bool never_ran(const std::optional<ComparedTest>& test) {
    return !test || test->state == State::not_run;
}

// Classes that rest on a failure in one of the runs.
bool rests_on_failure(ChangeClass c) {
    return c == Class::regressed || c == Class::new_failing || c == Class::fixed ||
           c == Class::still_failing_same;
}

// A signature that was not worked out differs from none, unless the states do.
bool signatures_differ(const ComparedTest& a, const ComparedTest& b) {
    if (a.signature.empty() || b.signature.empty()) return a.state != b.state;
    return a.signature != b.signature;
}

}  // namespace

std::optional<ChangeClass> change_class_of(std::string_view name) {
    const auto found = std::find_if(kChangeClasses.begin(), kChangeClasses.end(),
                                    [&](const ChangeClassRow& row) { return row.name == name; });
    if (found == kChangeClasses.end()) return std::nullopt;
    return static_cast<ChangeClass>(found - kChangeClasses.begin());
}

bool ended_by_accident(const ComparedTest& test) {
    if (kind_of(test.state) != StateKind::broken) return false;
    return test.state == State::timed_out ||
           (test.cause &&
            std::find(kAccidents.begin(), kAccidents.end(), *test.cause) != kAccidents.end());
}

ChangeClass change_class(const TestInTwoRuns& test) {
    const ChangeClass by_state = kClassTable[kind_index(test.baseline)][kind_index(test.run)];
    const bool in_both = test.baseline && test.run;
    if (test.lost_by_accident && (never_ran(test.baseline) || never_ran(test.run)))
        return by_state == Class::unchanged ? by_state : Class::spurious;
    const bool differs = in_both && test.baseline->state != test.run->state;
    if (test.run && test.run->flaky) return Class::flaky;
    if (differs && (test.noisy || test.baseline->flaky)) return Class::flaky;
    if (!rests_on_failure(by_state)) return by_state;
    const bool is_same_failure =
        by_state == Class::still_failing_same && !signatures_differ(*test.baseline, *test.run);
    if (is_same_failure) return by_state;
    if (is_accident(test.baseline, test.run) || is_accident(test.run, test.baseline))
        return Class::spurious;
    return by_state == Class::still_failing_same ? Class::still_failing_changed : by_state;
}

}  // namespace compat::analysis
