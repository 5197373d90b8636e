// The tests that modules hold, without running them. Not here: which modules there are (plan).
#pragma once

#include <string>
#include <vector>

#include "parsers/record.h"
#include "runner/plan/plan.h"
#include "runner/run/ready.h"

namespace compat::run {

// Collects each module in a child of its own, as a run would, and runs nothing. `keyword`: -k.
[[nodiscard]] Expected<std::vector<parsers::ModuleRecord>> collect(
    const Ready& ready, const std::string& keyword, const std::vector<plan::Job>& planned_jobs);

}  // namespace compat::run
