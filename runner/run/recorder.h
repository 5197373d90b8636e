// From a finished job to rows in the store, and from those to the module's next attempt: reads the
// attempt's files, parses, accounts, saves, asks the planner. The one place where what the executor
// says meets what the parsers say. Not here: display, reports, starting anything.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "parsers/record.h"
#include "runner/analysis/attempts.h"
#include "runner/analysis/verdict.h"
#include "runner/archive/run_folder.h"
#include "runner/display/module_done.h"
#include "runner/exec/event.h"
#include "runner/plan/confirmation.h"
#include "runner/plan/retry_policy.h"
#include "runner/store/store.h"
#include "suites/suite.h"

namespace compat::run {

// One attempt that is to be made, or was.
struct Assignment {
    size_t module = 0;  // index into the run's modules
    int number = 1;     // counts from 1
    AttemptKind kind = AttemptKind::whole;
    std::vector<std::string> only;  // ids; of a whole attempt, the module's own
};

// What follows for a module: one of the two, or neither while other modules may confirm what failed
// in its forked process.
struct Step {
    std::optional<Assignment> next;
    std::optional<display::ModuleDone> done;
};

class Recorder {
  public:
    struct Settings {
        Framework framework = Framework::unittest;
        plan::AttemptLimits limits;  // `maxfail` is the run's
        bool flaky_fails = false;
        bool confirm_all = true;  // by its own module each failure of a forked process
    };
    Recorder(store::Store& store, std::string run, std::filesystem::path run_folder,
             Settings settings, std::vector<archive::PlannedModule> modules);

    [[nodiscard]] const std::vector<archive::PlannedModule>& modules() const { return modules_; }

    // Takes in what is stored of a module, and the files of an attempt that was never stored.
    // `found`: the module's attempts in order; empty: it never began.
    Step take_up(size_t module, std::vector<store::JobResult> found);
    // All that is stored was taken up: from here on failures count for `maxfail`. The steps are
    // those of modules that waited.
    std::vector<Step> begin();
    // Stores what a job left, or keeps it while another process holds the database. After a first
    // other failure of the store, `trouble` holds it. The first step is of the job's module, the
    // others are of modules that waited.
    std::vector<Step> job_finished(const Assignment& assignment, const exec::JobFinished& finished);
    // What became of the modules that were under way when the run was stopped.
    [[nodiscard]] std::vector<display::ModuleDone> cut_short();
    // What keeps an attempt from being made is no fault of the suite.
    void cannot_start(Error error);
    // Stores what waits for another process that holds the database. Call it now and then. Errors:
    // busy, where something still waits; all others are `trouble`.
    Expected<void> save_what_waits();

    // Why the run must stop; empty: it goes on.
    [[nodiscard]] std::string stop() const;
    [[nodiscard]] bool enough_failures() const;
    // Whether a module was closed with tests that `resume` would run.
    [[nodiscard]] bool left_something() const { return left_something_; }
    // Whether a module has no result because its process could not be started.
    [[nodiscard]] bool could_not_start() const { return could_not_start_; }
    // Ids that were asked for and that no test has.
    [[nodiscard]] const std::vector<std::string>& unmatched() const { return unmatched_; }
    [[nodiscard]] const analysis::RunFacts& facts() const { return facts_; }
    [[nodiscard]] const std::vector<store::StoredMismatch>& mismatches() const {
        return mismatches_;
    }
    [[nodiscard]] const std::optional<Error>& trouble() const { return trouble_; }

  private:
    [[nodiscard]] parsers::ModuleRecord read(size_t module, int number,
                                             const ProcessEnd& end) const;
    enum class Deferring { nothing, what_others_confirm };
    [[nodiscard]] std::vector<plan::Attempt> history(size_t module, Deferring deferring) const;
    [[nodiscard]] plan::AttemptLimits limits_now() const;
    [[nodiscard]] bool confirms_once() const;
    [[nodiscard]] Assignment assign(size_t module, plan::AttemptRequest request);
    [[nodiscard]] Step decide(size_t module);
    // What the modules that wait are to do, once no attempt is under way: only then the choice does
    // not depend on which module ended first.
    [[nodiscard]] std::vector<Step> settle();
    [[nodiscard]] plan::UnconfirmedModule unconfirmed(size_t module) const;
    void learn(size_t module);
    void save(size_t module, store::JobResult result);
    bool try_to_save(const store::JobResult& job);
    void account(size_t module, const parsers::ModuleRecord& record);
    display::ModuleDone close(size_t module);

    store::Store& store_;
    std::string run_;
    std::filesystem::path folder_;
    Settings settings_;
    std::vector<archive::PlannedModule> modules_;
    std::map<size_t, std::vector<store::JobResult>> open_;  // attempts of modules under way
    std::set<size_t> waiting_;                              // those of them that others may confirm
    std::int64_t under_way_ = 0;  // attempts that were asked for and have not ended
    plan::Confirmations confirmations_;
    analysis::RunFacts facts_;
    std::int64_t failed_ = 0;
    std::optional<std::int64_t> failed_before_;  // this sitting; empty: it has not begun
    bool left_something_ = false;
    bool could_not_start_ = false;
    std::vector<store::StoredMismatch> mismatches_;
    std::vector<std::string> unmatched_;
    std::vector<store::JobResult> unsaved_;  // in the order in which they ended
    bool is_busy_ = false;                   // the last time that something was to be stored
    std::optional<Error> trouble_;
};

}  // namespace compat::run
