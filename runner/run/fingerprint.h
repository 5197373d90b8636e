// The environment that a run's results depend on: host, Python, torch, packages, settings.
#pragma once

#include <string>
#include <vector>

#include "runner/config/settings.h"
#include "runner/plan/command.h"
#include "runner/prepare/prepare.h"

namespace compat::run {

// A JSON object. Values of variables with secret names (compat::is_secret_name) are "<set>".
[[nodiscard]] std::string fingerprint(const prepare::Prepared& prepared,
                                      const config::Settings& settings,
                                      const plan::Variables& child_env);

// `variables` with the values of secret ones replaced by "<set>".
[[nodiscard]] plan::Variables masked(plan::Variables variables);

// `words` of a command line with the values of NAME=VALUE words replaced so where NAME is secret.
[[nodiscard]] std::vector<std::string> masked(std::vector<std::string> words);

}  // namespace compat::run
