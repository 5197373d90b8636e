// A run before it begins: its suite, settings, expectations and plan, and how it is described.
// `run` and `plan` share it. Not here: executing it (execute_run.h), and runs that go on
// (resume.h).
#pragma once

#include <string>
#include <vector>

#include "runner/archive/run_folder.h"
#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "runner/config/settings.h"
#include "runner/plan/cut.h"
#include "runner/plan/plan.h"
#include "runner/run/expectations/open_expectations.h"
#include "runner/run/ready.h"
#include "runner/run/run_suite.h"
#include "runner/store/shown_failures.h"
#include "runner/store/store.h"

namespace compat::run {

struct NewRun {
    Ready ready;  // make_ready comes next
    plan::Selection selection;
    plan::Shard shard{};  // of --shard I/N
    OpenExpectations expectations;
};

// Writes and starts nothing, so that errors of the command line, the suite and the settings come
// first.
[[nodiscard]] Expected<NewRun> open_new_run(const RunRequest& request,
                                            const config::Invocation& invocation,
                                            const prepare::Say& say);

// Facts from earlier runs, for a command that must not write to the database. If they cannot be
// read, a note says so.
[[nodiscard]] store::SuitePast past_of_results(const fs::path& results, const std::string& suite,
                                               std::vector<std::string>& notes);

// The whole plan. For shards only durations of whole runs count: cutting must not depend on earlier
// shards.
// The failures that earlier runs have shown; none where all are confirmed, where nothing is forked,
// or where the database cannot be read.
[[nodiscard]] store::ShownFailures shown_before(const Ready& ready, const store::Store& store,
                                                const store::RunInfo& run);
[[nodiscard]] Expected<plan::Plan> plan_whole_run(const NewRun& fresh, const store::SuitePast& past,
                                                  bool for_shards);
// The run's own plan: one shard's if the run is a shard.
[[nodiscard]] Expected<plan::Plan> plan_new_run(const NewRun& fresh, const RunRequest& request,
                                                const store::SuitePast& past);

// Errors: usage, where pytest rejects an option or the expression of -k.
[[nodiscard]] Expected<void> check_pytest_options(const Ready& ready, const plan::Plan& plan);

// Without modules.
[[nodiscard]] archive::RunPlan run_plan_of(const NewRun& fresh, const RunRequest& request);

// All but the plan's id.
[[nodiscard]] Expected<store::RunInfo> info_of_new_run(const NewRun& fresh,
                                                       const RunRequest& request,
                                                       const config::Invocation& invocation,
                                                       const archive::RunFolder& run);

}  // namespace compat::run
