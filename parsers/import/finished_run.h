// One run of pytest or unittest as its text tells of it, when the text of that run is over. Not for
// finding the runs (pytest/text.h, unittest/text.h).
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "parsers/record.h"
#include "parsers/resolve_unfinished.h"

namespace compat::parsers {

// The record is not resolved yet: `progress` says how far each of its cases came.
struct FinishedRun {
    ModuleRecord record;
    std::vector<Progress> progress;
    Course course;
    ProcessEnd end;  // of its process, as far as the text tells
};
using SeeRun = std::function<void(FinishedRun run)>;

// Where the runs are looked for.
struct RunsText {
    std::string_view text;
    std::string_view module;    // all tests are of it; empty: their names tell
    std::string_view fallback;  // for what names no module
};

[[nodiscard]] ModuleRecord resolved(FinishedRun run, const ProcessEnd& end);

// The own run of several in the log of one attempt of ours: the last with a closing, else the last.
[[nodiscard]] FinishedRun own_run(std::vector<FinishedRun> runs, std::string_view framework);

}  // namespace compat::parsers
