// Environment variables of the runner: its own, and those of --env. Not for a child's environment
// (plan/command.h).
#pragma once

#include <string>
#include <vector>

#include "runner/base/error.h"
#include "runner/plan/command.h"

namespace compat::run {

[[nodiscard]] plan::Variables inherited_environment();

// The words of --env, each NAME=VALUE. Errors: usage.
[[nodiscard]] Expected<plan::Variables> parse_variables(const std::vector<std::string>& words);

}  // namespace compat::run
