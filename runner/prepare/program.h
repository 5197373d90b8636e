// A command line of the user's own: which file it starts, and which Python that will use. Looks at
// files, starts nothing. Not here: what that Python has in it (prepare.h).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "runner/base/error.h"

namespace compat::prepare {

// The file that `word` starts, as a shell finds it: a word with a slash is a path and stays as it
// is written, any other is looked up in `search_path` (as PATH). Errors: usage.
[[nodiscard]] Expected<std::filesystem::path> find_command(const std::string& word,
                                                           std::string_view search_path);

// The program that a script's first lines name: the interpreter of "#!", the program that env(1)
// looks up, what the two-line form starts that pip writes where "#!" cannot hold the path. `head`
// is the file's beginning; empty: it is no script.
[[nodiscard]] std::string interpreter_named_in(std::string_view head);

// The Python that `program` is, or is a script of; else, for programs that may start one later (a
// shell script, make, a launcher), the active environment's, else the first on the path. Empty:
// there is none. Not resolved, so that a virtual environment stays one.
[[nodiscard]] std::filesystem::path python_of(const std::filesystem::path& program,
                                              std::string_view search_path,
                                              const std::string& virtual_env);

}  // namespace compat::prepare
