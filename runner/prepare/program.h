// For `runner exec`: finds the file that a command starts and the Python that it will use. Reads
// files, starts no process. Not here: the packages of that Python (prepare.h).
#pragma once

#include <string>
#include <string_view>

#include "runner/base/error.h"
#include "runner/base/files/fs.h"

namespace compat::prepare {

// The file that a shell would start for `word`: a word with a slash is returned unchanged, any
// other is looked up in `search_path` (the value of PATH). Errors: usage.
[[nodiscard]] Expected<fs::path> find_command(const std::string& word,
                                              std::string_view search_path);

// The interpreter of a script: from "#!", from the arguments of env(1), or from the second line
// that pip writes if the path is too long for "#!". `head` is the beginning of the file. Empty: no
// script.
[[nodiscard]] std::string interpreter_named_in(std::string_view head);

// The Python of `program`: the program itself or the interpreter of its script. For programs that
// may start a Python later (a shell script, make, a launcher): the one of the active environment,
// else the first on the path. Empty: none. Keeps symbolic links, which make a virtual environment.
[[nodiscard]] fs::path python_of(const fs::path& program, std::string_view search_path,
                                 const std::string& virtual_env);

}  // namespace compat::prepare
