// The tests that a text counts and does not name, as one row for each state of a run: "118 passed,
// unnamed". Not for tests that have a name anywhere in the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "parsers/outcomes.h"
#include "parsers/record.h"

namespace compat::parsers {

// No count of a file is taken for greater, so that sums of counts fit a number.
inline constexpr std::int64_t kGreatestCount = 1'000'000'000'000;

// The outcomes that the record's closing counts and its cases do not have.
// Where each test has a line, only skips and expected failures: of modules, fixtures and sub-tests,
// which may have none.
[[nodiscard]] OutcomeCounts counts_beyond_cases(const ModuleRecord& record, bool each_has_line);

struct UnnamedTests {
    OutcomeCounts counts{};
    std::string reason;    // of those that did not run
    bool pseudo = false;   // those that ran are modules, fixtures or sub-tests

    [[nodiscard]] bool any() const;
};

// The row of one test without a name, "path::<unnamed>", in which a process may have ended.
[[nodiscard]] CaseRecord unnamed_row(std::string_view path);

// Adds a row for each state of them, "path::<unnamed passed>", and says in a diagnostic how many
// have no name; `offset` is where the text counts them.
void add_unnamed(ModuleRecord& record, std::string_view path, const UnnamedTests& unnamed,
                 size_t offset, std::string_view advice);

// The text of that diagnostic; empty: the record has none.
[[nodiscard]] std::string note_on_unnamed(const ModuleRecord& record);

// With a number behind the name where the module has such rows of earlier runs.
void number_unnamed(CaseRecord& row, int number);

}  // namespace compat::parsers
