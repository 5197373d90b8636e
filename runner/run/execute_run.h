// Executes a prepared run: starts the children, stores their results, writes the reports. Not here:
// preparing (ready.h), making a new run (run_suite.cc) or loading an interrupted one (resume.cc).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runner/analysis/expectations/judge.h"
#include "runner/archive/run_folder.h"
#include "runner/base/exit_code.h"
#include "runner/run/ready.h"
#include "runner/run/reporting/reporting.h"
#include "runner/run/warm.h"
#include "runner/store/shown_failures.h"
#include "runner/store/store.h"

namespace compat::run {

struct Execution {
    archive::RunFolder run;
    archive::RunPlan plan;
    std::vector<std::string> notes;  // for people, before the first child
    store::SuitePast past;           // of all modules of the suite
    store::ShownFailures shown{};    // in earlier runs
    int verbosity = 0;
    bool resumed = false;  // interrupted before; a part of it is stored
    double seconds_before = 0;
    std::vector<WrittenFiles> earlier_writes{};  // by tests of an earlier sitting
    std::optional<HubUse> earlier_hub{};         // the same
    bool keep_empty = true;                      // store it even if it selected no test
    std::string shard;                           // "2/5"; empty: the run is whole
    ExtraReports extra{};
    analysis::Expectations expectations{};
    std::shared_ptr<SharedByRuns> shared = std::make_shared<SharedByRuns>();
};

struct ExecutionResult {
    ExitCode code = ExitCode::ok;
    bool stored = true;                    // false: it selected no test, and it was deleted
    std::vector<std::string> unmatched{};  // requested ids that no test has
};

// The run is in the store and its plan is written.
[[nodiscard]] Expected<ExecutionResult> execute_run(const Ready& prepared, store::Store& store,
                                                    const Execution& execution);

}  // namespace compat::run
