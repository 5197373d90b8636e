// What GoogleTest binaries print, one after the other, as others kept it. A binary does not say its
// name: a part's path is the file's stem, with "#2" and so on for further binaries; the iterations
// of --gtest_repeat are parts of the same path. Not for the JSON that a binary writes
// (googletest_json.h).
#pragma once

#include <string_view>
#include <vector>

#include "parsers/import/foreign.h"

namespace compat::parsers {

// Only what fits is believed, since a test may print such lines itself: all that stands between
// a test's start and the next word on that same test is its own output. A test whose end
// is missing crashed, or was not run to its end where the file breaks off with it.
[[nodiscard]] std::vector<Diagnostic> read_googletest_text(const ForeignFile& file,
                                                           const SeePart& see);

[[nodiscard]] int googletest_text_likeness(std::string_view beginning, std::string_view end);

}  // namespace compat::parsers
