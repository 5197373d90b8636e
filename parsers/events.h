// <attempt>.events.jsonl, as the harness writes it (docs/reference/file-formats.md), into a
// ModuleRecord. Not for the log's text (parsers/import) nor for what the shim
// recorded (devices.h).
#pragma once

#include <string_view>

#include "parsers/record.h"
#include "parsers/text_source.h"

namespace compat::parsers {

struct EventsResult {
    ModuleRecord record;
    // The harness's own session line was there, in a format we read. Where it is false the record
    // still has its outcome and its pseudo-case, and the log's text may know more.
    bool usable = false;
    // The framework's closing lines went to the log. The harness says so where they did not.
    bool closing_in_log = true;
};

// Every test announced is in the record once and in exactly one state, in the order of its
// announcement; resolve_unfinished.h says what becomes of tests without an `end`. `collected` is
// the number the harness itself counted where it got to say so, so that lost lines show in the
// accounting. Never fails: lines that are broken, cut, of another process or about an unknown test
// are diagnostics; unknown keys and unknown events are ignored. A newer format is refused: one
// diagnostic, nothing read. With a `key`, lines without its MAC are dropped; without one, lines
// without any MAC, if the session's has one.
[[nodiscard]] EventsResult parse_events(const LineSource& events, const ProcessEnd& end,
                                        std::string_view module, std::string_view key = {});

}  // namespace compat::parsers
