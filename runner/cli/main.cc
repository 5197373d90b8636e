// The program's entry; program.cc has the function that it calls.
#include "runner/cli/command_line.h"

int main(int argc, char** argv) { return compat::cli::run_program(argc, argv); }
