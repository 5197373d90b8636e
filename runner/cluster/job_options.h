// The settings of a job of Slurm as options of sbatch. Not here: how many shards (run_on_slurm.h).
#pragma once

#include <string>
#include <vector>

#include "runner/config/settings.h"

namespace compat::cluster {

// "--partition=gpu", of the settings that have a value.
[[nodiscard]] std::vector<std::string> job_options(const config::Settings& settings);

}  // namespace compat::cluster
