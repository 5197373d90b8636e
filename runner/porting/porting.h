// Runs a suite on plain CPU and on simulated devices, one run after the other, and compares the
// stored runs. Not for one run (run/run_suite.h) nor for the comparison
// (reports/porting/porting.h).
#pragma once

#include <string>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/exit_code.h"
#include "runner/config/settings.h"
#include "runner/run/run_suite.h"

namespace compat::porting {

struct PortingRequest {
    run::RunRequest run;
    std::vector<std::string> runs;  // stored ones to compare; empty: run the suite
    std::string out;                // empty: a folder below the results
};

[[nodiscard]] Expected<ExitCode> porting(const PortingRequest& request,
                                         const config::Invocation& invocation);

}  // namespace compat::porting
