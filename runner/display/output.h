// Prints to stdout and stderr. A closed pipe or a
// full disk never ends a run: text that cannot be
// written is dropped, and main reports it at the end.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <string_view>

namespace compat::display {

// Flushes. Nothing for a null file. As it is: for programs, and for what is masked already.
void put(std::FILE* file, std::string_view text);
// The door for all text for people, and for run.log: with secrets masked (base/secrets.h).
void put_masked(std::FILE* file, std::string_view text);

// 0, or the errno of the first failed write to stdout other than a closed pipe.
[[nodiscard]] int output_error();

// The stream for people's text that is no error: stdout, or stderr after
// keep_stdout_for_programs().
[[nodiscard]] std::FILE* people();
void keep_stdout_for_programs();

// A function that prints lines, with control characters escaped.
[[nodiscard]] std::function<void(std::string_view line)> say_to(std::FILE* file);

template <class... T>
void print(std::FILE* file, fmt::format_string<T...> format, T&&... values) {
    put_masked(file, fmt::format(format, std::forward<T>(values)...));
}

template <class... T>
void print(fmt::format_string<T...> format, T&&... values) {
    put_masked(people(), fmt::format(format, std::forward<T>(values)...));
}

}  // namespace compat::display
