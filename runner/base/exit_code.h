// The only table of exit codes; a test compares docs/reference/exit-codes.md with it.
#pragma once

#include <algorithm>
#include <array>
#include <csignal>
#include <span>
#include <string_view>

#include "runner/base/error.h"

namespace compat {

enum class ExitCode : int {
    ok = 0,
    unexpected_results = 1,
    usage = 2,
    unaccounted = 3,
    infrastructure = 4,
    nothing_selected = 5,
    interrupted = 130,
};

// The signals that end the runner with `interrupted`: all that would end it anyway, with its
// children left behind, but SIGUSR1, which asks for a run's state.
inline constexpr std::array kTerminationSignals{SIGINT,  SIGTERM, SIGHUP,
                                                SIGQUIT, SIGALRM, SIGUSR2};

struct ExitCodeRow {
    ExitCode code;
    std::string_view meaning;
};

// Highest priority first: of several codes that apply, the first in this table is the exit code.
inline constexpr std::array<ExitCodeRow, 7> kExitCodes{{
    {ExitCode::interrupted,
     "interrupted (SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGUSR2); what had finished is "
     "stored"},
    {ExitCode::infrastructure,
     "the runner could not work: disk, database, or a process that could not be started"},
    {ExitCode::unaccounted, "test counts do not add up"},
    {ExitCode::usage, "bad command line, suite or environment"},
    {ExitCode::nothing_selected, "no test selected"},
    {ExitCode::unexpected_results,
     "unexpected results: failed, errored, crashed, timed out, not run, where nothing expects it; "
     "passes that are expected to fail"},
    {ExitCode::ok, "all as expected"},
}};

[[nodiscard]] constexpr ExitCode worst(std::span<const ExitCode> codes) {
    for (const auto& row : kExitCodes)
        if (std::find(codes.begin(), codes.end(), row.code) != codes.end()) return row.code;
    return ExitCode::ok;
}

[[nodiscard]] constexpr ExitCode exit_code_of(ErrorKind kind) {
    switch (kind) {
        case ErrorKind::usage:
        case ErrorKind::suite:
        case ErrorKind::environment:
            return ExitCode::usage;
        case ErrorKind::nothing_selected:
            return ExitCode::nothing_selected;
        case ErrorKind::io:
        case ErrorKind::database:
        case ErrorKind::busy:
        case ErrorKind::spawn:
            return ExitCode::infrastructure;
        case ErrorKind::interrupted:
            return ExitCode::interrupted;
    }
    return ExitCode::infrastructure;
}

}  // namespace compat
