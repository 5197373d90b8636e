// Shared by the CI formats: five outcomes, to which our nine states are mapped, and a failed test's
// text. Not for the formats (junit.h, ctrf.h, github.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "reports/model.h"

namespace compat::reports {

enum class CiOutcome { passed, failed, errored, skipped, not_run };

// An unexpected pass fails where the framework lets it fail the run.
[[nodiscard]] CiOutcome ci_outcome_of(parsers::State state, std::string_view framework);

// The same for a test: what breaks as expected counts as skipped, an unexpected pass as failed.
[[nodiscard]] CiOutcome ci_outcome_of(const CaseView& test, std::string_view framework);

struct CiCounts {
    std::int64_t passed = 0, failed = 0, errored = 0, skipped = 0, not_run = 0;
    [[nodiscard]] std::int64_t all() const { return passed + failed + errored + skipped + not_run; }
};
[[nodiscard]] CiCounts ci_counts_of(const ReportModel& model);
[[nodiscard]] CiCounts ci_counts_of(const ModuleView& module, std::string_view framework);

// Why the test ended so: its failure's message, else the reason. May have several lines.
[[nodiscard]] std::string ci_message_of(const CaseView& test);
// The tracebacks of the test and its sub-tests, then the commands that reproduce it. Empty for a
// test without a failure.
[[nodiscard]] std::string ci_details_of(const CaseView& test);

// An id in the parts that CI shows: "tests/test_a.py", "A" and "test_x[1]". Joined by "::" they are
// the id; `classes` may be empty.
struct IdParts {
    std::string module, classes, name;
};
[[nodiscard]] IdParts parts_of_id(const std::string& id, const std::string& module);

}  // namespace compat::reports
