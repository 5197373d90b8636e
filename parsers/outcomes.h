// The outcomes that a framework counts for a test, and its words for them. Not for comparing
// the sums (runner/analysis/accounting.h) nor for reading the line (framework_summary.h).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "parsers/record.h"

namespace compat::parsers {

// How many ended in each state.
struct OutcomeCounts : std::array<std::int64_t, kStateNames.size()> {
    using array::operator[];
    std::int64_t& operator[](State s) { return (*this)[static_cast<size_t>(s)]; }
    std::int64_t operator[](State s) const { return (*this)[static_cast<size_t>(s)]; }
};

[[nodiscard]] constexpr bool is_failure(State s) {
    return s == State::failed || s == State::errored;
}

// It failed, or something ended it.
[[nodiscard]] constexpr bool is_broken(State s) {
    return is_failure(s) || s == State::crashed || s == State::timed_out;
}

// Whether a failure of the test was counted so.
[[nodiscard]] bool has_failure(const CaseRecord& test, State counted);

// Adds what the framework counts for one case: the outcome of its call, each failure, and its
// sub-tests that broke, under unittest also those that were skipped.
void add_outcomes(OutcomeCounts& counts, const CaseRecord& c, std::string_view framework);

// Sub-tests that pytest counts or not, by its version and its verbosity: the skipped, xfailed and
// xpassed ones.
[[nodiscard]] OutcomeCounts optional_outcomes(const ModuleRecord& record);

// The same as pytest's JUnit XML counts it. An attempt that was not the last counts by its
// sub-tests and its tear-down alone.
void add_pytest_xml_outcomes(OutcomeCounts& counts, const CaseRecord& c, bool is_earlier);
// Its `tests` leaves out a tear-down that broke: up to pytest 9.0 after a failed call, since 9.1
// after any other outcome. A file does not say which.
struct LeftOutTearDowns {
    std::int64_t after_failure = 0, after_other = 0;
};
void add_left_out(LeftOutTearDowns& left_out, const CaseRecord& c);

// The row of tests that a text counts and does not name: it stands for any number of them
// (parsers/import/unnamed.h).
inline constexpr std::string_view kUnnamed = "<unnamed>";
[[nodiscard]] bool is_unnamed(const CaseRecord& row);
// The tests that the rows stand for.
[[nodiscard]] std::int64_t tests_in(const std::vector<CaseRecord>& rows);

struct CountedWord {
    std::string_view word;
    State state;
};
// In the order in which the framework prints them; none for an unknown one.
[[nodiscard]] std::span<const CountedWord> counted_words(std::string_view framework);

}  // namespace compat::parsers
