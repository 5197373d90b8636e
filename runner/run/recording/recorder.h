// Records finished jobs: reads and parses the attempt's files, checks the sums, saves the result
// and asks the planner for the module's next attempt. A module without one is closed and counted.
// Not here: display, reports, starting processes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runner/analysis/attempts.h"
#include "runner/analysis/expectations/judge.h"
#include "runner/analysis/verdict.h"
#include "runner/archive/run_folder.h"
#include "runner/base/files/fs.h"
#include "runner/display/module_done.h"
#include "runner/exec/event.h"
#include "runner/plan/retry_policy.h"
#include "runner/run/attempt_result.h"
#include "runner/run/recording/fork_confirmations.h"
#include "runner/store/store.h"

namespace compat::run {

// One planned or finished attempt.
struct Assignment {
    size_t module = 0;  // index into the run's modules
    int number = 1;     // counts from 1
    AttemptKind kind = AttemptKind::whole;
    std::vector<std::string> only;  // ids; of a whole attempt, the module's own
    // A first attempt, or a retry of failures that other modules may confirm.
    bool may_fork = false;
    // Repeats in a fresh process what failed in a fork. It imports everything again and can wait.
    bool confirms = false;
    std::string key{};  // exec::Job's
};

// A module's next attempt, or its result. Neither while other modules may confirm the failures of
// its forked process.
struct Step {
    std::optional<Assignment> next;
    std::optional<display::ModuleDone> done;
};

struct TallyRules {
    bool flaky_fails = false;
    std::vector<std::string> fail_on{};  // marks that make the run fail
    analysis::Expectations expectations{};
};

// Sums over the modules of a run that are closed, as its exit code and its last lines need them.
struct RunTally {
    analysis::RunFacts facts;
    std::int64_t failed = 0;                // tests, for `maxfail`
    std::map<std::string, long> failed_on;  // tests with a mark of `fail_on`, by mark
    // Tests that passed although an entry of expectations.json says otherwise.
    std::vector<std::string> unexpected_passes;
    std::vector<std::string> unmatched;  // requested ids that no test has
    std::vector<store::StoredMismatch> mismatches;
    bool has_tests_to_resume = false;  // in a module that was closed
    bool could_not_start = false;      // a module has no result: its process did not start
};

// Writes finished attempts to the record in the run's folder and to the database.
class AttemptWriter {
  public:
    AttemptWriter(store::Store& store, std::string run, fs::path folder)
        : store_(store), run_(std::move(run)), folder_(std::move(folder)) {}

    [[nodiscard]] const fs::path& folder() const { return folder_; }
    // Keeps it for save_pending while another process has locked the database.
    void save(const store::JobResult& job);
    // Errors: busy, if some are still refused; all others are `fatal_error`.
    Expected<void> save_pending();

    // The first error for which the run must stop: of the store, the disk or the caller.
    [[nodiscard]] const std::optional<Error>& fatal_error() const { return fatal_error_; }
    void add_error(Error error);

  private:
    bool try_to_store(const store::JobResult& job);

    store::Store& store_;
    std::string run_;
    fs::path folder_;
    std::vector<store::JobResult> pending_;  // in the order in which they ended
    bool is_busy_ = false;                   // the last time that something was to be stored
    std::optional<Error> fatal_error_;
};

class Recorder {
  public:
    struct Settings {
        AttemptOrigin origin{};        // without a key
        plan::AttemptLimits limits{};  // `maxfail` is the run's
        ConfirmationRules confirmation{};
        TallyRules tally{};
    };
    Recorder(store::Store& store, std::string run, fs::path run_folder, Settings settings,
             std::vector<archive::PlannedModule> modules);

    // Continues a module from its stored attempts, and from the files of an attempt that was never
    // stored. `found`: in order; empty: it never began. `diagnostics`: numbers that diagnostic
    // attempts took, because the run stopped at `maxfail` and was diagnosed.
    Step resume_module(size_t module, Attempts found, size_t diagnostics = 0);
    // Called after the stored modules were resumed: later failures count for `maxfail`. The steps
    // are those of modules that waited.
    std::vector<Step> begin();
    // Stores a job's result, or keeps it while another process has locked the database.
    // `fatal_error` holds the store's first other error. The first step is of the job's module, the
    // others are of modules that waited.
    std::vector<Step> job_finished(const Assignment& assignment, const exec::JobFinished& finished);
    // The results of the modules that were running when the run was stopped.
    [[nodiscard]] std::vector<display::ModuleDone> close_unfinished_modules();
    // Not counted as a failure of the suite.
    void note_start_failure(Error error);
    // Stores the results that a locked database refused. Call it regularly. Errors: busy, if some
    // are still refused; all others are `fatal_error`.
    Expected<void> save_pending() { return writer_.save_pending(); }

    // Why the run must stop; empty: it continues.
    [[nodiscard]] std::string stop() const;
    [[nodiscard]] bool reached_maxfail() const;
    [[nodiscard]] const RunTally& tally() const { return tally_; }
    [[nodiscard]] const std::optional<Error>& fatal_error() const { return writer_.fatal_error(); }
    // From this run and those before it.
    [[nodiscard]] const plan::EarlierFailures& evidence() const {
        return confirmations_.evidence();
    }

  private:
    struct Module {
        archive::PlannedModule planned;
        Attempts attempts{};     // empty: none ended, or it is closed
        size_t diagnostics = 0;  // attempts that took a number
        bool waits = false;      // others may confirm its failures
        bool repeated = false;   // had another attempt in this sitting

        [[nodiscard]] int next_number() const {
            return static_cast<int>(1 + attempts.size() + diagnostics);
        }
    };
    [[nodiscard]] plan::AttemptLimits limits_now() const;
    [[nodiscard]] std::optional<plan::AttemptRequest> next_attempt(const Module& module,
                                                                   bool defer) const;
    void save(Module& module, store::JobResult result);
    [[nodiscard]] Assignment assign(size_t module, plan::AttemptRequest request, bool may_fork);
    [[nodiscard]] Step decide(size_t module);
    // The steps of waiting modules. The choice does not depend on which module ended first: it is
    // made when every module has had its forks, for those that have had no other attempt, and from
    // then on when no attempt is under way.
    [[nodiscard]] std::vector<Step> assign_confirmations();
    [[nodiscard]] std::vector<Step> choose_confirmations(const std::vector<size_t>& waiting,
                                                         ForkConfirmations::Choice choice);
    display::ModuleDone close(size_t module);

    AttemptWriter writer_;
    AttemptOrigin origin_;
    plan::AttemptLimits limits_;
    TallyRules tally_rules_;
    ForkConfirmations confirmations_;
    RunTally tally_;
    std::vector<Module> modules_;
    std::int64_t under_way_ = 0;        // attempts that were asked for and have not ended
    std::int64_t forks_under_way_ = 0;  // those of them that may be forks
    bool has_chosen_ = false;           // which modules confirm what others share
    std::optional<std::int64_t> failed_before_start_;  // this sitting; empty: it has not begun
};

}  // namespace compat::run
