// Records finished jobs: reads and parses the attempt's files, checks the sums, saves the result
// and asks the planner for the module's next attempt. Not here: display, reports, starting
// processes.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
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

class Recorder {
  public:
    struct Settings {
        Framework framework = Framework::unittest;
        plan::AttemptLimits limits;  // `maxfail` is the run's
        bool flaky_fails = false;
        bool confirm_all = true;             // by its own module each failure of a forked process
        std::vector<std::string> fail_on{};  // marks that make the run fail
        // A run that keeps going judges no test, so that nothing needs a fresh process.
        bool gives_verdicts = true;
        plan::EarlierFailures evidence{};  // of earlier runs of the same command
        analysis::Expectations expectations{};
        parsers::Isolation isolation{};
    };
    Recorder(store::Store& store, std::string run, std::filesystem::path run_folder,
             Settings settings, std::vector<archive::PlannedModule> modules);

    [[nodiscard]] const std::vector<archive::PlannedModule>& modules() const { return modules_; }

    // Continues a module from its stored attempts, and from the files of an attempt that was never
    // stored. `found`: in order; empty: it never began. `diagnostics`: numbers that diagnostic
    // attempts took, because the run stopped at `maxfail` and was diagnosed.
    Step resume_module(size_t module, std::vector<store::JobResult> found, size_t diagnostics = 0);
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
    Expected<void> save_pending();

    // Why the run must stop; empty: it continues.
    [[nodiscard]] std::string stop() const;
    [[nodiscard]] bool reached_maxfail() const;
    // Whether a module was closed with tests that `resume` would run.
    [[nodiscard]] bool has_tests_to_resume() const { return has_tests_to_resume_; }
    // Whether a module has no result because its process could not be started.
    [[nodiscard]] bool could_not_start() const { return could_not_start_; }
    // Requested ids that no test has.
    [[nodiscard]] const std::vector<std::string>& unmatched() const { return unmatched_; }
    // Tests with a mark of `fail_on`, by mark.
    [[nodiscard]] const std::map<std::string, long>& failed_on() const { return failed_on_; }
    // Tests that passed although an entry of expectations.json says otherwise.
    [[nodiscard]] const std::vector<std::string>& unexpected_passes() const {
        return unexpected_passes_;
    }
    [[nodiscard]] const analysis::RunFacts& facts() const { return facts_; }
    [[nodiscard]] const std::vector<store::StoredMismatch>& mismatches() const {
        return mismatches_;
    }
    [[nodiscard]] const std::optional<Error>& fatal_error() const { return fatal_error_; }
    // That it was given, and what its own fresh processes have shown.
    [[nodiscard]] plan::EarlierFailures evidence() const { return {settings_.evidence.failures}; }

  private:
    [[nodiscard]] parsers::ModuleRecord read(size_t module, int number,
                                             const ProcessEnd& end) const;
    enum class Deferring { nothing, confirmable_by_others };
    [[nodiscard]] std::vector<plan::Attempt> history(size_t module, Deferring deferring) const;
    [[nodiscard]] plan::AttemptLimits limits_now() const;
    [[nodiscard]] bool confirms_once() const;
    [[nodiscard]] bool is_proven(const parsers::CaseRecord& test) const;
    [[nodiscard]] bool others_may_confirm(size_t module) const;
    [[nodiscard]] bool was_only_forked(size_t module) const;
    [[nodiscard]] std::map<std::string_view, std::set<std::string>> forked_failures(
        size_t module) const;
    [[nodiscard]] plan::Attempt to_planner_attempt(const store::JobResult& job, bool defer) const;
    [[nodiscard]] int next_number(size_t module) const;
    [[nodiscard]] Assignment assign(size_t module, plan::AttemptRequest request, bool may_fork);
    [[nodiscard]] Step decide(size_t module);
    // The steps of waiting modules. The choice does not depend on which module ended first: it is
    // made when every module has had its forks, for those that have had no other attempt, and from
    // then on when no attempt is under way.
    [[nodiscard]] std::vector<Step> assign_confirmations();
    [[nodiscard]] std::vector<Step> choose_confirmations(const std::vector<size_t>& waiting,
                                                         const plan::Confirmations& known,
                                                         const std::set<std::string>& claimed);
    [[nodiscard]] bool confirms_rest(size_t module, const plan::AttemptRequest& request) const;
    void claim(size_t module, const std::vector<std::string>& ids);
    [[nodiscard]] plan::UnconfirmedModule unconfirmed(size_t module) const;
    void add_result(size_t module);
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
    std::map<size_t, size_t> diagnostics_;                  // attempts that took a number
    std::set<size_t> waiting_;                              // those of them that others may confirm
    std::int64_t under_way_ = 0;        // attempts that were asked for and have not ended
    std::int64_t forks_under_way_ = 0;  // those of them that may be forks
    std::set<size_t> repeated_;         // modules with another attempt in this sitting
    bool has_chosen_ = false;           // which modules confirm what others share
    std::set<std::string> claimed_;     // signatures that second attempts confirm for themselves
    plan::Confirmations confirmations_;
    plan::Confirmations known_before_choice_;  // from earlier sittings and first attempts
    analysis::RunFacts facts_;
    std::map<std::string, long> failed_on_;
    std::vector<std::string> unexpected_passes_;
    std::int64_t failed_ = 0;
    std::optional<std::int64_t> failed_before_start_;  // this sitting; empty: it has not begun
    bool has_tests_to_resume_ = false;
    bool could_not_start_ = false;
    std::vector<store::StoredMismatch> mismatches_;
    std::vector<std::string> unmatched_;
    std::vector<store::JobResult> unsaved_;  // in the order in which they ended
    bool is_busy_ = false;                   // the last time that something was to be stored
    std::optional<Error> fatal_error_;
};

}  // namespace compat::run
