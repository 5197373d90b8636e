// The content of a run's reports, computed once so that all formats show the same: a view of each
// module, one at a time, and the model of the whole run, whose size does not grow with tests.
// Values only. Not for formats (markdown/, json/json.h).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "parsers/record.h"
#include "reports/expectations.h"
#include "reports/gaps.h"
#include "reports/overview/collectives.h"
#include "reports/ways.h"
#include "runner/analysis/attempts.h"
#include "runner/base/attempt.h"
#include "runner/base/clock.h"
#include "runner/base/files/fs.h"
#include "runner/base/isolation/written_files.h"
#include "runner/base/run/hub_use.h"
#include "runner/base/run/run_info.h"
#include "runner/base/secrets.h"

namespace compat::store {
struct StoredRun;
struct StoredModule;
}  // namespace compat::store

namespace compat::reports {

struct CompareView;  // compare/compare.h

using analysis::needs_attention;

// An empty URL: the place cannot be linked, and its text is shown plainly.
struct FrameView {
    std::string file;  // relative to the suite's root if it is under it
    int line = 0;
    std::string function;
    bool in_suite = false;
    std::string url;
};

struct FailureView {
    std::string type;
    std::string message;
    std::string key_line;
    std::string cause;        // name in parsers/diagnosis/diagnosis.h; empty: not diagnosed
    std::string error_class;  // empty: no device refused anything
    std::string confidence;
    std::string rule;       // id in parsers/diagnosis/rules.json; empty: none matched
    // "needs the real weights of org/name", "asked for org/name, which the hub could not give";
    // empty: the failure is no matter of either.
    std::string needs{};
    std::string signature;  // equal for equal failures
    std::string traceback;
    std::vector<FrameView> frames;  // outermost first
    std::vector<FailureView> also;  // further failures of the same test
};

struct SubtestView {
    std::string id;  // the test's id and " (i=3)"
    parsers::State state = parsers::State::passed;
    std::string reason;
    std::optional<FailureView> failure;
};

struct AttemptView {
    int number = 1;
    AttemptKind kind = AttemptKind::whole;
    bool forked = false;
    parsers::State state = parsers::State::not_run;
    double duration_s = 0;
    std::string key_line;
    std::string log;        // relative to the run's folder
    std::string traceback;  // if it broke and does not decide
};

// Commands to copy into a shell.
struct Reproduce {
    std::string runner;
    std::string plain;
};

// A refusal of a simulated device in a run that keeps going.
struct RefusalView {
    std::string message;     // class and text, "TypeError: Cannot convert …"
    std::string place, url;  // "file:line" that called; may be empty
};

struct RedirectionView {
    std::string kind;  // redirect, fold, override, stub, refusal, fallback
    std::string op;
    std::string from;
    std::string to;
    std::string message;  // of a refusal that was not raised; else empty
    std::string file;     // as FrameView::file
    int line = 0;
    std::string url;
    std::int64_t count = 0;
    std::int64_t tests = 0;  // tests that reached it
};

struct StateInRun {
    std::string run;
    WallTime started{};
    parsers::State state = parsers::State::not_run;
};

// A test with its verdict: the state of its last attempt.
struct CaseView {
    std::string id;
    parsers::State state = parsers::State::not_run;
    std::string reason;
    bool pseudo = false;          // a row that is not a test
    std::int64_t tests = 1;       // that it stands for (parsers::CaseRecord)
    bool flaky = false;           // passed after it had failed
    bool fork_sensitive = false;  // broke in a forked process and not in a fresh one
    double duration_s = 0;
    std::string file;  // as FrameView::file
    int line = 0;
    std::string url;
    std::vector<std::string> marks;  // analysis::Marks
    parsers::HubNames generated{}, missing{};
    bool used_accelerator = false;  // in any state (analysis::used_accelerator)
    // "file:line" of its first request that got another device; only if needs_attention(state).
    std::string redirected_at, redirected_url;
    std::vector<RefusalView> refusals;  // one for each message and place
    std::string log;  // of the attempt that decided; empty unless it needs attention
    std::string log_url;
    std::vector<AttemptView> attempts;  // only if there were several
    std::vector<SubtestView> subtests;
    std::optional<FailureView> failure;
    std::optional<DiagnosisView> diagnosis{};      // only if the run was asked for it
    std::optional<AttributionView> attribution{};  // only if it ran in another way, too
    std::optional<ExpectationView> expectation{};  // empty: no entry governs it
    std::optional<Reproduce> reproduce;            // if needs_attention(state)
    // Oldest first, this run last; of the first kTestsWithHistory that need attention.
    std::vector<StateInRun> history{};
    // Its own, most frequent first, kRedirectionsOfTest at most; if needs_attention(state).
    std::vector<RedirectionView> redirections{};
};

using StateCounts = std::array<std::int64_t, parsers::kStateNames.size()>;

struct ModuleView : AttemptCost {  // of all attempts
    std::string path;
    std::string url;
    parsers::ModuleOutcome outcome = parsers::ModuleOutcome::not_run;
    std::string reason;
    int attempts = 0;
    std::string log;          // of the last attempt, relative to the run's folder
    std::string log_url;      // relative to the report's folder
    std::string process_end;  // of the last attempt
    std::optional<std::int64_t> last_known_cases;  // if this run does not know them
    std::vector<std::string> diagnostics;
    std::vector<CaseView> cases;
    std::vector<RefusalView> refusals;  // outside its tests, as CaseView::refusals
    StateCounts states{};
    std::optional<Reproduce> reproduce;  // if the module did not end in order

    [[nodiscard]] std::int64_t count(parsers::State state) const {
        return states[static_cast<size_t>(state)];
    }
};

struct Totals {
    std::int64_t modules = 0;
    std::int64_t collected = 0;
    StateCounts states{};
    StateCounts rows{};  // as `states`, a row of tests without names counted once
    std::int64_t flaky = 0;
    std::int64_t device = 0;  // this and the next five: tests with that mark
    std::int64_t fallback = 0;
    std::int64_t race = 0;
    std::int64_t redirected = 0;
    std::int64_t untouched = 0;
    std::int64_t generated = 0;
    std::int64_t used_accelerator = 0;  // in any state

    [[nodiscard]] std::int64_t count(parsers::State state) const {
        return states[static_cast<size_t>(state)];
    }
};

struct AccountingMismatch {
    std::string module;   // empty: the whole run
    std::string message;  // names both figures
};

struct Accounting {
    bool closed = true;
    std::vector<AccountingMismatch> mismatches;
};

// Failures with one signature. A run may have one for each test, so only common facts are here.
struct ClusterView {
    std::string signature;
    std::string cause;  // this and the next three as in FailureView
    std::string error_class;
    std::string confidence;
    std::string rule;
    std::string needs{};  // the example's
    std::string key_line;
    std::string example;  // id of its test; of one that is unexpected, where there is one
    std::string url;
    std::int64_t tests = 0;
    std::int64_t expected = 0;    // of these, tests that fail as expected
    std::string diagnosis{};      // of the example, in words; empty: none
    std::string attribution{};    // the example's cause, once compared; empty: it ran in one way
    std::optional<GapKey> gap{};  // that its text names (analysis::gaps_in)
    // "file:line" of the suite's innermost frame, and its link; empty: none is of the suite.
    std::string place{}, place_url{};
};

struct LeakedView {
    std::string module;
    std::int64_t pid = 0;
    std::string command;
    bool killed = true;
};

// Modules that could not be loaded for one cause.
struct LoadFailureView {
    std::string key_line;
    std::string type;
    std::string module;  // the first
    std::string url;     // of that module
    std::int64_t modules = 0;
    std::int64_t expected = 0;  // of these, modules of which it is expected
};

// "file:line" of the suite, and how many tests broke there.
struct StepPlace {
    std::string place, url;
    std::int64_t tests = 0;
};

// One of the first steps to take: failures that one change of the code or the set-up removes.
struct FirstStep {
    std::string title;
    std::string advice;
    std::string cause;
    // Its clusters' signatures, the largest first; empty: modules that could not be loaded.
    std::vector<std::string> signatures{};
    std::string example, url;  // a test, and its link
    std::int64_t tests = 0, modules = 0;
    std::vector<StepPlace> places{};  // most tests first
};

// Tests whose states say less about the device than a count of failures suggests.
struct BlindSpot {
    std::string name;   // "untouched", "timed_out", "memory", "network", …
    std::string words;  // "touched no device: a pass says nothing about it"
    std::int64_t tests = 0;
};

// A run of the same series.
struct HistoryPoint {
    std::string id;
    WallTime started{};
    bool complete = false;
    StateCounts states{};
};

struct RunView : RunInfo {
    double duration_s = 0;
    bool complete = false;  // false: interrupted, running or killed
    bool running = false;   // a runner goes on with it: only where somebody looked (runner/serve)
    std::optional<int> exit_code;
    bool imported = false;               // results of another runner: we cannot run them again
    std::string part;                    // "only a.py -k add, options -x"; empty: the whole suite
    std::vector<WrittenFiles> writes{};  // by tests of an isolated run, into folders of the run
    std::optional<HubUse> hub_use{};     // of a run with a local hub
    std::string command;                 // the command line, quoted
    std::string selection;               // equal for runs that select equal tests
};

struct ReportModel {
    RunView run;
    Totals totals;
    std::int64_t modules_without_result = 0;  // neither in order nor with a row
    Accounting accounting;
    std::int64_t links_total = 0;
    std::int64_t links_unresolved = 0;
    std::map<std::string, std::int64_t> causes;  // of tests that need attention: count by cause
    std::map<std::string, std::int64_t> expected_causes{};  // of those that fail as expected
    std::map<std::string, std::int64_t> diagnoses;          // of failed tests: count by brief words
    std::map<std::string, std::int64_t> attributions;       // of failed tests: count by cause
    std::vector<ClusterView> clusters;                      // most frequent first
    std::vector<GapView> gaps;                              // met by the run; ranked
    std::vector<RedirectionView> redirections;              // most frequent first
    CollectivesView collectives{};
    std::vector<LeakedView> leaked_processes;
    std::vector<LoadFailureView> load_failures;  // most frequent first
    std::vector<FirstStep> first_steps{};        // most tests first
    std::vector<BlindSpot> blind_spots{};        // only those with tests
    // Since the latest comparable run; null: there is none.
    std::shared_ptr<const CompareView> changes{};
    std::vector<HistoryPoint> history{};  // oldest first, this run last
    ExpectationsView expectations{};
    bool issue_texts = true;  // pages offer failing tests as such (issue_text.h)
};

// The end of the accounting line where all counts add up: ", all accounted for".
[[nodiscard]] std::string describe_closed_accounting(const ReportModel& model);

// Whether an accelerator was simulated and no test used it: their results say nothing about it.
[[nodiscard]] bool is_device_unused(const ReportModel& model);
struct WayToUseTheDevice {
    std::string_view option, words;
};
inline constexpr std::array<WayToUseTheDevice, 3> kWaysToUseTheDevice{{
    {"--default-device", "tensors for which the code names no device are made on it"},
    {"-- --device={device}", "the suite's own option for pytest"},
    {"--env TEST_DEVICE={device}", "the suite's own variable"},
}};

// The test's failure, else that of its first failed sub-test; null: none.
[[nodiscard]] const FailureView* failure_of(const CaseView& test);
// The model's causes, most tests first.
[[nodiscard]] std::vector<std::pair<std::string, std::int64_t>> causes_by_tests(
    const ReportModel& model);
[[nodiscard]] std::string_view cause_means(std::string_view cause);

// Earlier runs of the series, oldest first (overview/past_runs.h).
struct PastRuns {
    std::vector<HistoryPoint> runs{};
    // One test's states, oldest first; empty: there are no runs.
    std::function<std::vector<StateInRun>(const std::string& test)> states{};
};
// Tests with a history of their own: the first of those that need attention.
inline constexpr std::int64_t kTestsWithHistory = 2000;
inline constexpr std::size_t kRedirectionsOfTest = 20;

struct ModelOptions {
    fs::path run_folder;     // absolute: source copies go in its source/ folder
    fs::path report_folder;  // relative links start here
    OtherRuns other_runs{};  // for attribution
    PastRuns past_runs{};    // for histories
    // Masked in all text that a suite wrote, but the names of tests (runner/base/secrets.h).
    std::vector<std::string> secrets = own_secret_values();
    bool may_copy = true;  // as LinkSource::may_copy
};

// Takes a run's modules one at a time, in planned order. Reads the suite's source to check links,
// and copies linked files if links cannot lead elsewhere.
class ModelBuilder {
  public:
    ModelBuilder(const store::StoredRun& run, ModelOptions options);
    ModelBuilder(ModelBuilder&&) noexcept;
    ~ModelBuilder();

    [[nodiscard]] const RunView& run() const;
    // Adds a module to the model of the run.
    void add(store::StoredModule module);
    // Once, after the last module.
    [[nodiscard]] ReportModel finish();
    // Changes nothing in the model: may be called before and after `finish`.
    [[nodiscard]] ModuleView view(store::StoredModule module);

    // Where links of the views so far lead to copies in `source/` of the run's folder.
    struct Copies {
        std::string prefix;           // of those links; empty: links lead elsewhere
        fs::path folder;              // absolute
        std::vector<fs::path> files;  // relative to it
    };
    [[nodiscard]] Copies copies() const;

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace compat::reports
