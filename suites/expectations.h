// The file expectations.json: reads it (JSON with comments, expectations.schema.json,
// docs/guide/expectations.md), and changes its text entry by entry, so that all else in it stays
// byte for byte. Not here: what an entry means for a result (runner/analysis/expectations).
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/expectation.h"
#include "runner/base/files/fs.h"

namespace compat::suites {

inline constexpr int kExpectationsFormat = 1;
inline constexpr std::string_view kExpectationsFile = "expectations.json";

// Parses the text of an expectations.json. `file` is its name in errors. Errors: suite, with
// file:line:column.
[[nodiscard]] Expected<std::vector<Expectation>> parse_expectations(std::string_view text,
                                                                    const fs::path& file);

// Whether the text is that of an expectations.json, valid or not: a list with an object that has
// "test", or an object with "format" and "expectations". Other programs use the name, too.
[[nodiscard]] bool has_expectations(std::string_view text);

// An error of a file that the user did not name: without other advice, it says how to name one.
[[nodiscard]] Error advise_to_name_another(Error error);

// Changes by the number of an entry, from 0.
struct ExpectationEdits {
    std::map<std::size_t, std::vector<std::string>> states;  // new value of `expect`
    std::vector<std::size_t> removed;
    // Where the file's entries are sorted by test, each goes to its place; else to the end.
    std::vector<Expectation> added;
};

// The text with the edits made. An empty text is that of a new file. `text` has been parsed.
[[nodiscard]] std::string edited_expectations(std::string_view text, const ExpectationEdits& edits);

// An entry as it is written to the file, in one line.
[[nodiscard]] std::string text_of(const Expectation& entry);

}  // namespace compat::suites
