// The result of a module after its last attempt. Not for one attempt
// (exec/event.h).
#pragma once

#include <string>
#include <vector>

#include "runner/analysis/attempts.h"
#include "runner/base/process/leaked_process.h"

namespace compat::display {

struct ModuleDone {
    std::string path;
    analysis::Verdicts verdicts;
    int attempts = 0;
    double duration_s = 0;  // of all attempts
    std::vector<LeakedProcess> leaked;
};

}  // namespace compat::display
