// What a GoogleTest binary writes with --gtest_output=json, as others kept it. Its path is the
// file's stem. Not for what it prints (googletest_text.h).
#pragma once

#include <string_view>
#include <vector>

#include "parsers/import/foreign.h"

namespace compat::parsers {

// One part: the file is of one run. Of a file that is cut off, the tests that it counts and does
// not reach are not_run.
[[nodiscard]] std::vector<Diagnostic> read_googletest_json(const ForeignFile& file,
                                                           const SeePart& see);

[[nodiscard]] int googletest_json_likeness(std::string_view beginning, std::string_view end);

}  // namespace compat::parsers
