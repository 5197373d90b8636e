#include "reports/expectations.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>

#include "runner/base/text.h"

namespace compat::reports {

using analysis::EntryNote;
using parsers::State;

std::int64_t sum_of_states(const analysis::CountsByState& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

bool fails_as_expected(const std::optional<ExpectationView>& expectation) {
    return expectation && expectation->fit == Fit::as_expected && expectation->fails_without;
}

bool passes_unexpectedly(const std::optional<ExpectationView>& expectation) {
    return expectation && expectation->fit == Fit::unexpected_pass;
}

std::string describe_expectation(State state, const ExpectationView& view) {
    std::string words =
        view.fit == Fit::as_expected
            ? fmt::format("{} as expected", name_of(state))
            : fmt::format("{}; expected was {}", name_of(state), fmt::join(view.expect, " or "));
    if (!view.reason.empty()) words += ": " + view.reason;
    if (!view.issue.empty()) words += fmt::format(" ({})", view.issue);
    return words;
}

std::string describe_expectations(const ExpectationsView& view) {
    const std::int64_t passes = sum_of_states(view.unexpected_passes);
    const std::int64_t failures = sum_of_states(view.unexpected_failures);
    return fmt::format("{} as expected, {} unexpected {}, {}",
                       counted(sum_of_states(view.expected), "failure"), passes,
                       passes == 1 ? "pass" : "passes", counted(failures, "unexpected failure"));
}

std::string describe_note(const EntryNoteView& note) {
    switch (note.kind) {
        case EntryNote::Kind::expired:
            return fmt::format("expired on {}: no longer applies", note.until);
        case EntryNote::Kind::unmatched:
            return "matches no test";
        case EntryNote::Kind::stale:
            return "all its tests passed: no longer needed";
    }
    return {};
}

ExpectationsOfRun::ExpectationsOfRun(analysis::Expectations expectations, std::string file)
    : expectations_(std::move(expectations)), file_(std::move(file)), tally_(expectations_) {}

std::optional<ExpectationView> ExpectationsOfRun::view_of(const parsers::CaseRecord& test,
                                                          std::string_view framework) const {
    const analysis::Judged judged = expectations_.judge(test, framework);
    if (!judged.entry) return std::nullopt;
    return ExpectationView{judged.fit,           analysis::is_unexpected(test.state, framework),
                           judged.entry->test,   judged.entry->expect,
                           judged.entry->reason, judged.entry->issue};
}

ExpectationsView ExpectationsOfRun::finish() const {
    ExpectationsView view;
    view.file = file_;
    view.entries = static_cast<std::int64_t>(expectations_.entries().size());
    view.expected = tally_.expected();
    view.unexpected_passes = tally_.unexpected(Fit::unexpected_pass);
    view.passes_with_entry = tally_.passes_with_entry();
    view.unexpected_failures = tally_.unexpected(Fit::unexpected_failure);
    for (const EntryNote& note : tally_.notes()) {
        const Expectation& entry = expectations_.entries()[note.entry];
        view.notes.push_back({note.kind, entry.test, entry.reason, entry.issue, entry.until});
    }
    return view;
}

}  // namespace compat::reports
