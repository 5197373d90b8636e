// The checks of `runner doctor --on slurm`: Slurm's commands, the partition, and on each of its
// nodes the results folder, locks, the runner and the environment's Python. Not here: printing.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "runner/base/error.h"
#include "runner/config/settings.h"

namespace compat::run {

// A check: whether it is as it should be, what was checked, and what to do if not.
using OnCheck = std::function<void(bool good, const std::string& what, const std::string& advice)>;

// `python`: the interpreter of the environment; empty: none is known, so it is not checked.
// Submits a small job to each node that can take one, and waits a minute for them at most.
void check_cluster(const config::Settings& settings, const std::filesystem::path& python,
                   const OnCheck& on_check);

}  // namespace compat::run
