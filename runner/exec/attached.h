// Runs one program attached to our terminal: it inherits stdin, stdout, stderr and the process
// group, so Ctrl-C, Ctrl-\ and Ctrl-Z reach it directly. Not for children of suites, which have a
// session of their own (launcher.h).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "runner/base/process/process_end.h"

namespace compat::exec {

struct AttachedProgram {
    fs::path program;
    std::vector<std::string> arguments;                    // without argv[0]
    std::vector<std::pair<std::string, std::string>> env;  // the whole environment
};

// Starts the program and returns how it ended: exited or signaled. Forwards signals to it, except
// those that it has already received: the terminal's keys, and signals that it sent itself. A
// signal that another process sends to our whole group reaches the program twice. The signals stay
// blocked on return, so that the caller can report. An error: the program never ran.
[[nodiscard]] Expected<ProcessEnd> run_attached(const AttachedProgram& attached);

}  // namespace compat::exec
