// Where the runner's own files lie: beside the program, wherever it was installed.
#pragma once

#include "runner/base/error.h"
#include "runner/prepare/prepare.h"

namespace compat::prepare {

// <prefix>/share/runner of the <prefix>/bin/runner that runs. Errors: environment, where it is not
// there.
[[nodiscard]] Expected<Share> find_share();

// The folder that a person means by `name`: a path, or else the shipped suite of that name
// ("einops", "suites/einops"). A path that does not exist is returned as it is: the loader says so.
[[nodiscard]] std::filesystem::path find_suite(const std::string& name, const Share& share);

// Names of the shipped suites, sorted.
[[nodiscard]] std::vector<std::string> shipped_suites(const Share& share);

}  // namespace compat::prepare
