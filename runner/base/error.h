// Errors as values, for mistakes of the user and failures of the machine: a bad suite file, a
// missing Python, a full disk. Not for results: a failing test, a crash, a hang or an unreadable
// log is data (parsers/record.h). Not for our own bugs: those are assertions.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

namespace compat {

// Each kind maps to one exit code (exit_code.h).
enum class ErrorKind {
    usage,        // the command line: unknown option, unknown target, unknown run
    suite,        // suite.json or the suite's folder
    environment,  // no Python, no torch, an unavailable source
    nothing_selected,
    io,           // unwritable folder, full disk
    database,     // damaged or newer than this runner
    busy,         // the database is locked by another process; try again later
    spawn,        // a child could not be started
    interrupted,  // by a signal during a wait
};

// `message` says what happened, in one sentence; `advice` says what to do, or is empty.
// `where` is "file:line:column" or a path, or empty.
struct Error {
    ErrorKind kind;
    std::string message;
    std::string advice;
    std::string where;
};

// "where: message: advice" without empty parts. One line, for the terminal.
[[nodiscard]] std::string to_line(const Error& error);

template <class T>
using Expected = tl::expected<T, Error>;

[[nodiscard]] inline tl::unexpected<Error> fail(ErrorKind kind, std::string message,
                                                std::string advice = {}, std::string where = {}) {
    return tl::unexpected<Error>(
        Error{kind, std::move(message), std::move(advice), std::move(where)});
}

template <class T>
T taken(Expected<T>&& result) {
    if constexpr (!std::is_void_v<T>) return *std::move(result);
}

// The value of an Expected; its error ends the function that asks:
//     const std::string text = TRY(read_file(file));
//     TRY(write_file(file, text));
#define TRY(...)                                                     \
    __extension__({                                                  \
        auto tried = __VA_ARGS__;                                    \
        if (!tried) return tl::unexpected(std::move(tried).error()); \
        ::compat::taken(std::move(tried));                           \
    })

}  // namespace compat
