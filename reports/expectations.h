// A run's expectations in its reports: each test's entry, the sums, and the entries that a person
// should look at. Values, and the words that several formats share. Not for what an entry means
// (runner/analysis/expectations).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/record.h"
#include "runner/analysis/expectations/judge.h"

namespace compat::reports {

using analysis::Fit;

// A test's result beside the entry that governs it.
struct ExpectationView {
    Fit fit = Fit::as_expected;
    bool fails_without = false;  // without the entry, the result would make the run fail
    std::string test;            // the entry's pattern
    std::vector<std::string> expect;
    std::string reason, issue;
};

struct EntryNoteView {
    analysis::EntryNote::Kind kind = analysis::EntryNote::Kind::expired;
    std::string test, reason, issue, until;
};

struct ExpectationsView {
    std::string file;
    std::int64_t entries = 0;            // 0: nothing is expected of any test
    analysis::CountsByState expected{};  // tests that fail as expected
    analysis::CountsByState unexpected_passes{}, unexpected_failures{};
    analysis::CountsByState passes_with_entry{};  // of the unexpected passes
    std::vector<EntryNoteView> notes{};
};

[[nodiscard]] std::int64_t sum_of_states(const analysis::CountsByState& counts);

// Whether the test would make the run fail and is as expected.
[[nodiscard]] bool fails_as_expected(const std::optional<ExpectationView>& expectation);
[[nodiscard]] bool passes_unexpectedly(const std::optional<ExpectationView>& expectation);

// "failed as expected: no float64 (https://…)", "passed; expected was failed: no float64".
[[nodiscard]] std::string describe_expectation(parsers::State state, const ExpectationView& view);
// "3 failures as expected, 1 unexpected pass, 0 unexpected failures"
[[nodiscard]] std::string describe_expectations(const ExpectationsView& view);
// "expired on 2026-01-31, no longer applies"
[[nodiscard]] std::string describe_note(const EntryNoteView& note);

// Judges a run's modules for its reports.
class ExpectationsOfRun {
  public:
    ExpectationsOfRun(analysis::Expectations expectations, std::string file);
    // The tally points to the expectations.
    ExpectationsOfRun(const ExpectationsOfRun&) = delete;
    ExpectationsOfRun& operator=(const ExpectationsOfRun&) = delete;

    void add(const parsers::ModuleRecord& record) { tally_.add(record); }
    // Empty: no entry governs the test.
    [[nodiscard]] std::optional<ExpectationView> view_of(const parsers::CaseRecord& test,
                                                         std::string_view framework) const;
    [[nodiscard]] ExpectationsView finish() const;

  private:
    analysis::Expectations expectations_;
    std::string file_;
    analysis::ExpectationTally tally_;
};

}  // namespace compat::reports
