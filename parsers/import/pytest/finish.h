// What became of the tests of a session of pytest's: from what was said of each to a record with
// one state each, compared with the session's own totals. Not for reading lines (session.h).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "parsers/ending.h"
#include "parsers/import/pytest/session.h"
#include "parsers/record.h"
#include "parsers/unnamed.h"

namespace compat::parsers {

// How the session's text ends.
struct PytestEnd {
    std::optional<Closing> closing;
    size_t end = 0;                  // where that begins
    bool sure = false;               // it counts what was seen
    std::optional<ProcessEnd> died;  // as printed, where there is none
    bool summarised = false;         // its summary has begun
    std::string_view fallback;
};

// The record is not settled yet: `progress` says how far each of its cases came.
struct FinishedPytestSession {
    ModuleRecord record;
    std::vector<Progress> progress;
    Course course;
    ProcessEnd end;  // of its process, as far as the text tells
};
[[nodiscard]] FinishedPytestSession finish_pytest_session(PytestSession session,
                                                          const PytestEnd& end,
                                                          Unnamed::Room& room);

}  // namespace compat::parsers
