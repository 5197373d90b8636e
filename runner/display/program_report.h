// The report that `runner exec` prints on stderr when its program has ended. Pure. Not the report
// of a run (reports/), which knows tests and links.
#pragma once

#include <chrono>
#include <string>

#include "parsers/devices.h"
#include "runner/analysis/collectives.h"
#include "runner/base/files/fs.h"
#include "runner/exec/event.h"

namespace compat::display {

struct ProgramRun {
    std::string command;  // quoted for a shell
    ProcessEnd end;
    std::chrono::duration<double> took{};
    std::string unwatched;          // why there is no shim; empty: there is one
    std::string python;             // the interpreter whose torch the shim was built for
    fs::path cwd;                   // files below it are shown relative to it
    fs::path record;                // empty: none
    analysis::CollectiveLink link;  // of the model of collectives' time
    std::string scan;               // what its sources use CUDA for (describe_scan); empty: unknown
};

// Lines begin with "runner: ", rows of tables with blanks. `recorded` is the parsed record, which
// may be cut off.
[[nodiscard]] std::string program_report(const ProgramRun& run,
                                         const parsers::DevicesResult& recorded);

}  // namespace compat::display
