// Errors as values. For what the user or the machine got wrong: a bad suite file, a missing Python,
// a full disk. Not for what a suite does: a failing test, a crash, a hang or an unreadable log are
// data (parsers/record.h), and not for our own bugs: those are assertions.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace compat {

// Each kind maps to one exit code (exit_code.h).
enum class ErrorKind {
    usage,        // the command line: unknown option, unknown target, unknown run
    suite,        // suite.json or the suite's folder
    environment,  // no Python, no torch, a source out of reach
    nothing_selected,
    io,           // unwritable folder, full disk
    database,     // damaged, or newer than this runner
    busy,         // the database, held by another process: the same call may succeed later
    spawn,        // a child could not be started
    interrupted,  // by a signal, where it was waited for something
};

// `message` is one sentence for a person; `advice` says what to do, empty where nothing can be
// said. `where` is "file:line:column" or a path, empty where the error has no place.
struct Error {
    ErrorKind kind;
    std::string message;
    std::string advice;
    std::string where;
};

// "where: message: advice", leaving out what is empty. One line, for the terminal.
[[nodiscard]] std::string to_line(const Error& error);

template <class T>
using Expected = tl::expected<T, Error>;

[[nodiscard]] inline tl::unexpected<Error> fail(ErrorKind kind, std::string message,
                                                std::string advice = {}, std::string where = {}) {
    return tl::unexpected<Error>(
        Error{kind, std::move(message), std::move(advice), std::move(where)});
}

}  // namespace compat
