// Text for people and programs, on stdout or stderr. A reader that has gone away, or a full disk
// behind a redirection, never cuts a run short: what cannot be written is dropped, and main says so
// at the end.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <string_view>

namespace compat::display {

// Written out at once.
void put(std::FILE* file, std::string_view text);

// 0, or the errno of the first failed write to stdout. A reader that has gone away is none.
[[nodiscard]] int output_error();

// Where text for people goes that is not about an error: stdout, or stderr once stdout is a
// program's.
[[nodiscard]] std::FILE* people();
void keep_stdout_for_programs();

// Prints lines that may hold anything: what takes time, notes.
[[nodiscard]] std::function<void(std::string_view line)> say_to(std::FILE* file);

template <class... T>
void print(std::FILE* file, fmt::format_string<T...> format, T&&... values) {
    put(file, fmt::format(format, std::forward<T>(values)...));
}

template <class... T>
void print(fmt::format_string<T...> format, T&&... values) {
    put(people(), fmt::format(format, std::forward<T>(values)...));
}

}  // namespace compat::display
