// The program's main function, in the library so that it is compiled in its batch. Not here: the
// command line (command_line.h).
#pragma once

namespace compat::cli {

// Returns the exit code.
[[nodiscard]] int run_program(int argc, char** argv);

}  // namespace compat::cli
