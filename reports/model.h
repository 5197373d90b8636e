// Everything a report may say about a run, worked out once, so that every format says the same: of
// each module a view, which passes by and is not kept, and of the run as a whole the model, whose
// size does not depend on how many tests there are. Values only: a renderer reads these and nothing
// else. Not here: how things look (markdown.h, json.h).
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "parsers/record.h"
#include "reports/gaps.h"
#include "runner/analysis/attempts.h"
#include "runner/base/attempt.h"
#include "runner/base/clock.h"

namespace compat::store {
struct StoredRun;
struct StoredModule;
}  // namespace compat::store

namespace compat::reports {

using analysis::needs_attention;

// A URL is empty where there is none that works: the text is then printed plainly.
struct FrameView {
    std::string file;  // relative to the suite's root where it is under it
    int line = 0;
    std::string function;
    bool in_suite = false;
    std::string url;
};

struct FailureView {
    std::string type;
    std::string message;
    std::string key_line;
    std::string cause;        // words of parsers/diagnosis.h; empty: not diagnosed
    std::string error_class;  // empty: no device refused anything
    std::string confidence;
    std::string rule;       // id in parsers/rules.json; empty: none held
    std::string signature;  // what it has in common with equal failures
    std::string traceback;
    std::vector<FrameView> frames;  // outermost first
    std::vector<FailureView> also;  // further failures of the same test
};

struct SubtestView {
    std::string id;  // of the test, and " (i=3)"
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
    std::string log;  // relative to the run's folder
};

// Commands to copy into a shell.
struct Reproduce {
    std::string runner;
    std::string plain;
};

// A test with its verdict: the state of its last attempt.
struct CaseView {
    std::string id;
    parsers::State state = parsers::State::not_run;
    std::string reason;
    bool pseudo = false;          // a row that is not a test
    bool flaky = false;           // passed after it had failed
    bool fork_sensitive = false;  // broke in a forked process and not in a fresh one
    double duration_s = 0;
    std::string file;  // as FrameView::file
    int line = 0;
    std::string url;
    std::vector<std::string> marks;  // device, fallback, redirected, untouched
    bool used_accelerator = false;   // in any state (analysis::used_accelerator)
    std::string log;                 // of the attempt that decided; of what needs attention
    std::string log_url;
    std::vector<AttemptView> attempts;  // only where there were several
    std::vector<SubtestView> subtests;
    std::optional<FailureView> failure;
    std::optional<Reproduce> reproduce;  // of what nobody wants to see (needs_attention)
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
    std::optional<std::int64_t> last_known_cases;  // where this run does not know them
    std::vector<std::string> diagnostics;
    std::vector<CaseView> cases;
    StateCounts states{};
    std::optional<Reproduce> reproduce;  // where the module itself did not end well

    [[nodiscard]] std::int64_t count(parsers::State state) const {
        return states[static_cast<size_t>(state)];
    }
};

struct Totals {
    std::int64_t modules = 0;
    std::int64_t collected = 0;
    StateCounts states{};
    std::int64_t flaky = 0;
    std::int64_t device = 0;  // these four: tests with that mark
    std::int64_t fallback = 0;
    std::int64_t redirected = 0;
    std::int64_t untouched = 0;

    [[nodiscard]] std::int64_t count(parsers::State state) const {
        return states[static_cast<size_t>(state)];
    }
};

struct AccountingMismatch {
    std::string module;   // empty: the run as a whole
    std::string message;  // names both figures
};

struct Accounting {
    bool closed = true;
    std::vector<AccountingMismatch> mismatches;
};

struct RedirectionView {
    std::string kind;  // redirect, fold, override, stub, refusal, fallback
    std::string op;
    std::string from;
    std::string to;
    std::string file;  // as FrameView::file
    int line = 0;
    std::string url;
    std::int64_t count = 0;
    std::int64_t tests = 0;  // how many tests came by here
};

// Failures with one signature. A run may have as many as tests: what each says alone stays with it.
struct ClusterView {
    std::string signature;
    std::string cause;  // these five as FailureView has them
    std::string error_class;
    std::string confidence;
    std::string rule;
    std::string key_line;
    std::string example;  // id of its test
    std::string url;
    std::int64_t tests = 0;
};

struct LeakedView {
    std::string module;
    std::int64_t pid = 0;
    std::string command;
    bool killed = true;
};

// Modules that could not be loaded, for one cause.
struct LoadFailureView {
    std::string key_line;
    std::string type;
    std::string module;  // the first of them
    std::int64_t modules = 0;
};

struct RunView {
    std::string id;
    std::string suite;
    std::string series;
    std::string framework;
    WallTime started{};
    double duration_s = 0;
    bool complete = false;  // false: interrupted, still going on, or killed
    std::optional<int> exit_code;
    bool imported = false;  // others made these results: no command of ours runs them again
    bool shim = true;
    std::string policy;
    bool masquerade = false;
    std::string device;
    std::optional<std::string> simulated;
    bool fallback = true;
    std::string commit;
    bool dirty = false;
    std::string torch;
    std::string root;
    std::string python;       // the environment's interpreter
    std::string command;      // the command line as it was typed, quoted
    std::string selection;    // the same for runs that were asked for the same tests
    std::string fingerprint;  // a JSON object
};

struct ReportModel {
    RunView run;
    Totals totals;
    Accounting accounting;
    std::int64_t links_total = 0;
    std::int64_t links_unresolved = 0;
    std::map<std::string, std::int64_t> causes;  // tests that need attention, by their failure's
    std::vector<ClusterView> clusters;           // of those tests; most frequent first
    std::vector<GapView> gaps;                   // that the run met; ranked
    std::vector<RedirectionView> redirections;   // most frequent first
    std::vector<LeakedView> leaked_processes;
    std::vector<LoadFailureView> load_failures;  // most frequent first
};

// What a test broke by: of one that broke in its sub-tests alone, the first that did. Null: nothing
// tells.
[[nodiscard]] const FailureView* failure_of(const CaseView& test);
// The model's causes, that of most tests first.
[[nodiscard]] std::vector<std::pair<std::string, std::int64_t>> causes_by_tests(
    const ReportModel& model);
// A cause in a few words (parsers::kCauses).
[[nodiscard]] std::string_view cause_means(std::string_view cause);

struct ModelOptions {
    std::filesystem::path run_folder;     // absolute: source copies go in its source/ folder
    std::filesystem::path report_folder;  // where the report will lie; relative links start here
};

// Takes a run's modules one at a time, in the order in which they were planned. Reads the suite's
// source, to check links, and copies linked files where nothing else can be linked to.
class ModelBuilder {
  public:
    ModelBuilder(const store::StoredRun& run, ModelOptions options);
    ModelBuilder(ModelBuilder&&) noexcept;
    ~ModelBuilder();

    [[nodiscard]] const RunView& run() const;
    [[nodiscard]] ModuleView add(const store::StoredModule& module);
    // Once, when every module was added.
    [[nodiscard]] ReportModel finish();

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace compat::reports
