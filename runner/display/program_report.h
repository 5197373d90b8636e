// What `runner exec` says when its program has ended: plain text for stderr, short enough to read
// each time. Pure. Not the report of a run (reports/), which knows tests and links.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "parsers/devices.h"
#include "runner/exec/event.h"

namespace compat::display {

struct ProgramRun {
    std::string command;  // as a person would type it
    ProcessEnd end;
    std::chrono::duration<double> took{};
    std::string unwatched;         // why the shim could not be in it; empty: it could
    std::string python;            // whose torch the shim is for
    std::filesystem::path cwd;     // of the program: files below it are shown from there
    std::filesystem::path record;  // empty: nothing was written there
};

// Lines that begin with "runner: ", those of tables with blanks. `recorded` is what the record's
// file says, whole or cut off.
[[nodiscard]] std::string program_report(const ProgramRun& run,
                                         const parsers::DevicesResult& recorded);

}  // namespace compat::display
