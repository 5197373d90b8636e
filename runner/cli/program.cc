// The program from its first line to its exit code: signals, the command line, errors as text.
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <exception>
#include <string_view>

#include "runner/base/exit_code.h"
#include "runner/base/process/termination.h"
#include "runner/base/text.h"
#include "runner/cli/command_line.h"
#include "runner/display/output.h"
#include "runner/exec/sandbox.h"
#include "runner/exec/signals.h"

namespace compat::cli {

namespace {

// Only until a run starts: its event loop handles interrupts.
void end_interrupted(int) {
    constexpr std::string_view kWords = "runner: interrupted\n";
    (void)!::write(STDERR_FILENO, kWords.data(), kWords.size());
    ::_exit(static_cast<int>(ExitCode::interrupted));
}

void handle_early_interrupts() {
    for (const int signal : kTerminationSignals)
        // A signal that nohup or `trap '' INT` ignores stays ignored, without a moment in between.
        if (!is_ignored(signal)) std::signal(signal, end_interrupted);
}

}  // namespace

int run_program(int argc, char** argv) {
    // The first process of a sandbox is this program too.
    if (argc > 1 && argv[1] == exec::kInitWord)
        return exec::run_sandbox_init({argv + 2, argv + argc});
    handle_early_interrupts();
    exec::ignore_stray_signals();
    // An inherited SIG_IGN would reap children before their exit status is read.
    std::signal(SIGCHLD, SIG_DFL);
    try {
        const auto line = parse_command_line(argc, argv);
        if (const int* code = std::get_if<int>(&line)) return *code;
        const auto& parsed = std::get<Parsed>(line);
        if (parsed.json_progress) display::keep_stdout_for_programs();
        const auto code = parsed.action();
        if (!code && is_termination_pending()) {
            // A tool that the signal ended, too.
            display::print(stderr, "runner: interrupted\n");
            return static_cast<int>(ExitCode::interrupted);
        }
        if (!code) {
            display::print(stderr, "runner: {}\n", printable(to_line(code.error())));
            return static_cast<int>(exit_code_of(code.error().kind));
        }
        if (const int error = display::output_error()) {
            display::print(stderr, "runner: cannot write to stdout: {}\n", std::strerror(error));
            return static_cast<int>(ExitCode::infrastructure);
        }
        return *code;
    } catch (const std::exception& error) {
        // A bug: one line, and not an exit code that blames the suite.
        display::print(stderr, "runner: internal error: {}\n", printable(error.what()));
        return static_cast<int>(ExitCode::infrastructure);
    }
}

}  // namespace compat::cli
