// A suite on plain CPU and on simulated devices, one run after the other, and the comparison of the
// stored runs. A run is made as `run` makes it (run_suite.h); what the comparison says is in
// reports/porting.h.
#pragma once

#include <string>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/exit_code.h"
#include "runner/config/settings.h"
#include "runner/run/run_request.h"

namespace compat::run {

struct PortingRequest {
    RunRequest run;
    std::vector<std::string> runs;  // stored ones to compare; empty: run the suite
    std::string out;                // empty: a folder below the results
};

[[nodiscard]] Expected<ExitCode> porting(const PortingRequest& request,
                                         const config::Invocation& invocation);

}  // namespace compat::run
