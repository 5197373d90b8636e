#include "parsers/outcomes.h"

#include <algorithm>

#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

constexpr CountedWord kUnittestWords[] = {{"failures", State::failed},
                                          {"errors", State::errored},
                                          {"skipped", State::skipped},
                                          {"expected failures", State::xfailed},
                                          {"unexpected successes", State::xpassed}};
constexpr CountedWord kPytestWords[] = {{"failed", State::failed},   {"passed", State::passed},
                                        {"skipped", State::skipped}, {"xfailed", State::xfailed},
                                        {"xpassed", State::xpassed}, {"errors", State::errored}};
constexpr CountedWord kGtestWords[] = {
    {"passed", State::passed}, {"skipped", State::skipped}, {"failed", State::failed}};
// Its line gives passed tests, skipped ones included, only in per cent.
constexpr CountedWord kCtestWords[] = {{"failed", State::failed}};
constexpr std::array<std::span<const CountedWord>, kFrameworks.size()> kWords{
    kUnittestWords, kPytestWords, kGtestWords, kCtestWords};

// The state under which the framework counts a failure after the first.
State counted_state(const Failure& failure, std::string_view framework) {
    if (failure.counted) return *failure.counted;
    if (is_framework(framework, Framework::pytest))
        return failure.phase == Phase::call ? State::failed : State::errored;
    return failure.type == "AssertionError" ? State::failed : State::errored;
}

}  // namespace

std::span<const CountedWord> counted_words(std::string_view framework) {
    const auto known = framework_of(framework);
    return known ? kWords[static_cast<size_t>(*known)] : std::span<const CountedWord>();
}

bool is_unnamed(const CaseRecord& row) { return row.name.starts_with("<unnamed"); }

std::int64_t tests_in(const std::vector<CaseRecord>& rows) {
    std::int64_t tests = 0;
    for (const CaseRecord& row : rows) tests += row.tests;
    return tests;
}

bool has_failure(const CaseRecord& test, State counted) {
    const auto is_it = [&](const Failure& f) { return f.counted == counted; };
    return (test.failure && is_it(*test.failure)) ||
           std::any_of(test.also.begin(), test.also.end(), is_it);
}

namespace {

// All but its sub-tests'.
void add_own_outcomes(OutcomeCounts& counts, const CaseRecord& c, std::string_view framework) {
    const State own = c.call_state.value_or(c.state);
    bool own_counted = false;
    const auto count = [&](const Failure& failure, State state) {
        if (!is_failure(state) && state != State::xfailed) return;
        ++counts[state];
        // An expected failure of the tear-down is counted beside the outcome of the call.
        const bool is_expected_teardown =
            state == State::xfailed && failure.phase == Phase::teardown;
        own_counted = own_counted || (state == own && !is_expected_teardown);
    };
    if (c.failure) count(*c.failure, c.failure->counted.value_or(c.state));
    for (const Failure& more : c.also) count(more, counted_state(more, framework));
    if (!own_counted) counts[own] += c.tests;
    // pytest counts a skip in the tear-down beside the call.
    if (!is_framework(framework, Framework::unittest) && c.state == State::skipped &&
        own == State::passed)
        ++counts[State::skipped];
}

}  // namespace

void add_outcomes(OutcomeCounts& counts, const CaseRecord& c, std::string_view framework) {
    add_own_outcomes(counts, c, framework);
    const bool skips = is_framework(framework, Framework::unittest);
    for (const SubCase& sub : c.subcases)
        if (is_failure(sub.state) || (skips && sub.state == State::skipped)) ++counts[sub.state];
}

OutcomeCounts optional_outcomes(const ModuleRecord& record) {
    OutcomeCounts counts{};
    if (!is_framework(record.framework, Framework::pytest)) return counts;
    for (const CaseRecord& c : record.cases)
        for (const SubCase& sub : c.subcases)
            if (sub.state != State::passed && !is_failure(sub.state)) ++counts[sub.state];
    return counts;
}

void add_pytest_xml_outcomes(OutcomeCounts& counts, const CaseRecord& c, bool is_earlier) {
    OutcomeCounts own{};
    add_own_outcomes(own, c, name_of(Framework::pytest));
    if (is_earlier) own[State::passed] = 0;
    for (const SubCase& sub : c.subcases) ++own[sub.state];
    for (size_t i = 0; i < own.size(); ++i) counts[i] += own[i];
}

void add_left_out(LeftOutTearDowns& left_out, const CaseRecord& c) {
    const auto is_teardown = [](const Failure& f) { return f.phase == Phase::teardown; };
    if (!c.failure) return;
    if (is_teardown(*c.failure))
        ++left_out.after_other;
    else if (std::any_of(c.also.begin(), c.also.end(), is_teardown))
        ++(c.failure->phase == Phase::call ? left_out.after_failure : left_out.after_other);
}

}  // namespace compat::parsers
