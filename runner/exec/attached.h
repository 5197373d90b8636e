// One program that has our terminal: our stdin, stdout and stderr are its own, untouched, and it
// stays in our process group, so that the terminal's signals (Ctrl-C, Ctrl-\, Ctrl-Z) reach it as
// if we were not there. Not for suites' children, which are apart from the terminal and from each
// other (launcher.h).
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "runner/exec/event.h"

namespace compat::exec {

struct Attached {
    std::filesystem::path program;
    std::vector<std::string> arguments;                    // without the program's own name
    std::vector<std::pair<std::string, std::string>> env;  // whole
};

// Starts it and returns how it ended: exited or signaled. Meanwhile no signal ends us: each is
// passed on, but for the terminal's keys, which the program has had itself, and the program's own;
// what it makes of it decides. One that somebody else sends to our whole group reaches the program
// twice. On return these signals stay blocked, so that an impatient one cannot keep the caller from
// reporting. An error is a program that never ran.
[[nodiscard]] Expected<ProcessEnd> run_attached(const Attached& attached);

}  // namespace compat::exec
