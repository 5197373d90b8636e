// What is alike in the text of both frameworks where it is read as a log of a run as a whole: how
// its process ended, and which of several runs in the log of an attempt of ours is its own. Not for
// reading lines.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "parsers/import/doubt.h"
#include "parsers/record.h"

namespace compat::parsers {

// How a process of which only its log is known ended: in order, or nobody knows.
inline const ProcessEnd kInOrder{.kind = ProcessEnd::Kind::exited, .detail = {}};
inline const ProcessEnd kBrokenOff{.kind = ProcessEnd::Kind::stopped,
                                   .detail = "the log breaks off"};

// The last run that has a closing, else the last. `Run` has a `record`.
template <class Run>
[[nodiscard]] Run own_part(std::vector<Run> runs, std::string_view framework) {
    Run own;
    own.record.from_text = true;
    own.record.framework = framework;
    for (Run& run : runs)
        if (run.record.closing || !own.record.closing) own = std::move(run);
    if (runs.size() > 1)
        add_doubt(own.record, 0, "the log of one attempt shows several runs",
                  "run the module again");
    return own;
}

}  // namespace compat::parsers
