// What GoogleTest's text and its JSON have in common: failures as it writes them, ids, rows.
// Not for finding them in a file (googletest_text.h, googletest_json.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "parsers/record.h"

namespace compat::parsers {

// One "file:line: Failure" or "file:line: Skipped", and the text after it.
struct GoogletestPart {
    bool skipped = false;
    Frame place;        // its function is not told; an empty file: "unknown file"
    std::string words;  // as one line
    std::string text;   // as it is printed
};
// The parts that `text` holds; what stands before the first is a test's own output.
[[nodiscard]] std::vector<GoogletestPart> googletest_parts(std::string_view text);

// Of the text in an element of its XML or JSON, "a.cc:12\nwords", as the binary prints it.
[[nodiscard]] GoogletestPart googletest_part(std::string_view text, bool skipped);

[[nodiscard]] Failure googletest_failure(GoogletestPart part, Phase phase);

// "Suite.Test" as "path::Suite::Test".
[[nodiscard]] std::string googletest_id(std::string_view path, std::string_view name);

// Gives the case its state and what its parts say of it.
void set_googletest_result(CaseRecord& test, State state, std::vector<GoogletestPart> parts);

// A disabled test: it is skipped, and was never begun.
void set_googletest_disabled(CaseRecord& test);

// A row for what failed outside of any test: "path::Suite::<TestSuite>" or, without a suite,
// "path::<Environment>". `parts` without a failure: the file says that it failed, not how.
[[nodiscard]] CaseRecord googletest_fixture(std::string_view path, std::string_view suite,
                                            Phase phase, std::vector<GoogletestPart> parts);

// The name of the file without folders and its last extension: that of a binary that nothing names.
[[nodiscard]] std::string_view stem_of(std::string_view file_name);

}  // namespace compat::parsers
