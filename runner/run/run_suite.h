// Runs a suite: loads it, prepares its environment, plans, executes, stores and reports.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runner/archive/results.h"
#include "runner/base/error.h"
#include "runner/base/exit_code.h"
#include "runner/config/settings.h"
#include "runner/run/reporting/reporting.h"
#include "runner/run/warm.h"

namespace compat::run {

// One shard's part of the plan of shards (archive/shard_plan.h).
struct PartOfPlan {
    std::string plan;  // its id
    std::string run;   // the shard's id, the same each time that it starts
    std::vector<archive::PlannedModule> modules;
    std::string expectations_file, expectations;  // as store::RunInfo has them
    Subset subset;
};

// The options of a run. Settings that all commands share are in config/settings.h.
struct RunRequest {
    std::string suite;
    std::vector<std::string> targets;
    std::string keyword;
    std::vector<std::string> env;  // "K=V"
    bool dry_run = false;
    int verbosity = 0;
    std::int64_t maxfail = 0;  // 0: never
    bool flaky_fails = false;
    std::vector<std::string> fail_on;  // marks that make the run fail
    std::string order;                 // empty: longest first
    std::string shard;                 // "2/5"; empty: all
    std::string plan;                  // a plan's file, of which `shard` is an index
    std::optional<PartOfPlan> part;    // read from that file
    ExtraReports reports{};
    int repeat = 1;         // runs, one after the other
    std::string repeat_of;  // the first of them; empty: this run
    std::string column;     // of a nightly matrix, by its name; empty: of none
    // Called with the run's id before the run is stored; may be empty.
    std::function<void(const std::string& id)> on_begin{};
    // Stored even if it selected no test: other runs are compared with it.
    bool keep_empty = false;
    bool diagnose = true;                    // false: whatever the settings say
    bool discovery_printed = false;          // by the caller, or by the first of several runs
    bool options_checked = false;            // those for pytest, by the first of several runs
    std::shared_ptr<SharedByRuns> shared{};  // by several runs; empty: this run has its own
};

struct RunResult {
    ExitCode code = ExitCode::ok;
    std::string id;                             // empty: no run is stored
    std::optional<archive::OpenResults> store;  // that holds the run
    std::vector<std::string> unmatched{};       // requested ids that no test has
};
// Ignores `repeat`.
[[nodiscard]] Expected<RunResult> run_once(const RunRequest& request,
                                           const config::Invocation& invocation);

// The series in the run's id: the settings' name, or another for a run that keeps going.
[[nodiscard]] std::string series_of(const Ready& ready);

// Makes one run: here (run_once), or wherever the caller decides (runner/cluster/run_on_slurm.h).
using RunOnce =
    std::function<Expected<RunResult>(const RunRequest& request, const config::Invocation&)>;

// As often as `repeat` says.
[[nodiscard]] Expected<ExitCode> run_suite(const RunRequest& request,
                                           const config::Invocation& invocation,
                                           const RunOnce& once);

}  // namespace compat::run
