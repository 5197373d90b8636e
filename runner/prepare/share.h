// Finds what is installed with the runner, relative to the program. Not for files of users.
#pragma once

#include <optional>

#include "runner/base/error.h"
#include "runner/prepare/prepare.h"

namespace compat::prepare {

// <prefix>/share/runner of the running <prefix>/bin/runner.
// Errors (environment): missing.
[[nodiscard]] Expected<Share> find_share();

// The folder for `name`: an existing path, or the shipped suite of that name ("einops",
// "suites/einops"), or `name` itself, for which the loader reports an error.
[[nodiscard]] std::filesystem::path find_suite(const std::string& name, const Share& share);

// The folder of the shipped suite of a name; empty: there is none.
[[nodiscard]] std::optional<std::filesystem::path> shipped_suite(const std::string& name,
                                                                 const Share& share);

// Names of the shipped suites, sorted.
[[nodiscard]] std::vector<std::string> shipped_suites(const Share& share);

// The Python of the environment that the runner is installed in, if that has torch; else empty.
[[nodiscard]] std::filesystem::path own_python();

}  // namespace compat::prepare
