// The database of all runs: one SQLite file, written attempt by attempt,
// read by reports and history (docs/reference/store-schema.md). Values
// come out as they went in. Not here: what results mean (runner/analysis),
// the files of a run (runner/archive), and SQL, which no caller sees.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parsers/record.h"
#include "runner/base/attempt.h"
#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "runner/base/isolation/written_files.h"
#include "runner/base/process/leaked_process.h"
#include "runner/base/run/hub_use.h"
#include "runner/base/run/run_info.h"

namespace compat::store {

using compat::RunInfo;

// One attempt at one module: its parsed files and the cost of its process.
struct JobResult : AttemptCost {
    parsers::ModuleRecord record;
    int attempt = 1;  // counts from 1
    AttemptKind kind = AttemptKind::whole;
    std::vector<std::string> only;  // of all but whole: the ids that were asked for
    std::string step;               // of diagnostic: a name in kDiagnosticSteps
    WallTime started{};
    std::string log;  // paths relative to the run's folder; empty: not written
    std::string events;
    std::string devices;
    std::string hub;
    std::string process_end;  // for people: "exit code 1", "SIGSEGV", "timed out after 30m"
    // The same for the parsers, to re-parse the files; empty: stored by an older runner, or
    // imported. Its peak_rss_bytes is the one above.
    std::optional<ProcessEnd> ended;
    std::vector<LeakedProcess> leaked;

    friend bool operator==(const JobResult&, const JobResult&) = default;
};

// Counts of the framework and the runner that disagree. Empty module: the run as a whole.
struct StoredMismatch {
    std::string module;
    std::string message;

    friend bool operator==(const StoredMismatch&, const StoredMismatch&) = default;
};

struct RunEnd {
    WallTime finished{};
    double duration_s = 0;
    bool complete = true;  // false: interrupted
    int exit_code = 0;
    bool accounting_closed = true;
    std::vector<StoredMismatch> mismatches;
    std::string not_run_reason;  // why modules that never started did not: "interrupted", "-x"
    std::vector<WrittenFiles> writes{};  // of an isolated run
    std::optional<HubUse> hub{};         // of a run with a local hub

    friend bool operator==(const RunEnd&, const RunEnd&) = default;
};

struct StoredModule {
    std::string path;
    std::vector<JobResult> attempts;               // oldest first; empty: never started
    std::string not_run_reason;                    // only where attempts is empty
    std::optional<std::int64_t> last_known_cases;  // in the latest earlier run that knew them
    // Attempts of `--diagnose`, numbered after the others. They are kept apart, because they decide
    // nothing.
    std::vector<JobResult> diagnostics{};

    void add(JobResult job) {
        (job.kind == AttemptKind::diagnostic ? diagnostics : attempts).push_back(std::move(job));
    }

    friend bool operator==(const StoredModule&, const StoredModule&) = default;
};

// A run without its modules, which each_module visits.
struct StoredRun {
    RunInfo info;
    std::optional<RunEnd> end;  // empty while it goes on, and after a kill
    double duration_s = 0;      // without an end: up to that of the last attempt that was stored
};

// An error ends the reading and is returned.
using ModuleVisitor = std::function<Expected<void>(StoredModule)>;
// Visits a run's modules one by one.
using ReadModules = std::function<Expected<void>(const ModuleVisitor&)>;

// Tests of a run by the state of their last attempt, indexed by parsers::State.
using StateCounts = std::array<std::int64_t, parsers::kStateNames.size()>;

// One line of the list of runs: without the fields that lists leave out (base/run/run_fields.h).
struct RunSummary : RunInfo {
    bool imported = false;
    std::optional<RunEnd> end;  // without its mismatches, writes and hub
    std::string source_hash;    // of its fingerprint; empty: none
    std::int64_t modules = 0;
    StateCounts states{};
    // Tests that exercised the device (analysis::used_accelerator), good and broken.
    std::int64_t exercised_good = 0, exercised_broken = 0;
};

// Which tests of a run are listed.
struct CaseFilter {
    std::vector<parsers::State> states;  // empty: of every state
    std::string module;                  // its path; empty: of every module
};

// A test of a run with its verdict, as lists show it.
struct CaseSummary {
    std::int64_t cursor = 0;  // names its place in the list
    std::string module;
    std::string id;
    parsers::State state = parsers::State::not_run;
    std::string reason;
    std::string key_line;  // of its failure; empty: none
    std::optional<WallTime> started;
    double duration_s = 0;
    int attempt = 1;  // the one that decided
    std::string log;  // of that attempt, relative to the run's folder
};

// Earlier results of a suite's modules, by path.
struct SuitePast {
    std::map<std::string, double> seconds;  // of the last run that was not cut short
    // The same without shards: cutting a plan into
    // shards must not depend on earlier shards.
    std::map<std::string, double> seconds_of_whole_runs;
    std::set<std::string> failed;  // modules with failures in their last run
    // Those of them that needed a fresh process after their fork, each time that they were forked
    // in their last ten runs. Runs that repeat every failure do not count (--retries, --confirm
    // all).
    std::set<std::string> needs_fresh_process;
};

// A test's verdict in one run, and the signature of the failure that decides; empty: none.
struct TestVerdict {
    parsers::State state = parsers::State::not_run;
    std::string signature;
    bool generated = false;  // it used what the hub had generated
};

// A test's verdict in one run.
struct HistoryEntry {
    std::string run;
    std::string suite;
    WallTime started{};
    std::string module;
    parsers::State state = parsers::State::not_run;
    bool flaky = false;
    std::string reason;
    std::string key_line;  // of its failure; empty: none
    double duration_s = 0;
    int attempts = 1;
    std::string log;  // of the attempt that decided, relative to the run's folder
};

// A connection to one database. Several may be open on a file at a time, in several processes; one
// object belongs to one thread. Errors: database (damaged, locked for longer than the time-out,
// newer than this runner), io (unwritable, full disk).
class Store {
  public:
    enum class Mode {
        read_write,
        read_only
    };  // read_only: the file must exist, nothing is migrated

    [[nodiscard]] static Expected<Store> open(const fs::path& file, Mode mode = Mode::read_write);
    // Gone when it is closed; its memory is bounded.
    [[nodiscard]] static Expected<Store> temporary();
    // For where runs' folders are, and no file, or an empty one, in the place of their database.
    [[nodiscard]] static Error gone(const fs::path& file);

    Store(Store&&) noexcept;
    Store& operator=(Store&&) noexcept;
    ~Store();

    // How long a call waits for another process's lock before it fails with ErrorKind::busy and
    // changes nothing. Writers hold the lock for milliseconds.
    static constexpr std::chrono::milliseconds kPatience{30'000};
    void set_patience(std::chrono::milliseconds busy);

    // Each of the four is one transaction. A run id may begin once.
    [[nodiscard]] Expected<void> begin_run(const RunInfo& info);
    // Adds modules to a run's plan, so that modules that never start are stored too. A path that is
    // already planned is kept.
    [[nodiscard]] Expected<void> plan_modules(std::string_view run,
                                              const std::vector<std::string>& paths);
    // An attempt may be saved once. It decides the verdicts of the tests that it reached and of
    // those that no attempt has reached yet. A whole attempt also decides the pseudo-cases of the
    // module and its fixtures; alone and again add none. Any attempt replaces "nothing ran".
    [[nodiscard]] Expected<void> save_job(std::string_view run, const JobResult& job);
    // On the disk when it returns, power loss included.
    [[nodiscard]] Expected<void> finish_run(std::string_view run, const RunEnd& end);
    // Adds a finished run in one transaction; on the disk when it returns, power loss included. Its
    // framework and its end are stored as they are when the modules have been read.
    // Values of its modules that derive from other runs are not stored.
    [[nodiscard]] Expected<void> add_run(const StoredRun& run, const ReadModules& read_modules);
    // Replaces a run's modules, then stores the end that
    // `end` returns. `read_modules` may read the same run
    // by another connection. On the disk when it returns.
    [[nodiscard]] Expected<void> replace_modules(std::string_view run,
                                                 const ReadModules& read_modules,
                                                 const std::function<RunEnd()>& end);
    // Whether the database refused a value, such as a column that is not JSON. Other writes still
    // succeed.
    [[nodiscard]] static bool is_refusal(const Error& error);
    // Moves everything from the write-ahead log into the database's file, on the disk.
    [[nodiscard]] Expected<void> settle();
    // Deletes the run and everything that belongs to it.
    [[nodiscard]] Expected<void> delete_run(std::string_view run);
    // Deletes the end of a run that continues.
    [[nodiscard]] Expected<void> reopen_run(std::string_view run);

    // Everything that `read` reads from this store has the state of one moment. `read` does not
    // write.
    [[nodiscard]] Expected<void> snapshot(const std::function<Expected<void>()>& read) const;

    // Newest first.
    [[nodiscard]] Expected<std::vector<RunSummary>> runs() const;
    // The id of the run that an id, a unique prefix, "latest", "latest~1",
    // "SUITE@latest" or "SUITE@latest~1" names. Runs that give no verdicts (--keep-going, --seeds)
    // are older than all others for these names. Errors: usage, with the candidates.
    [[nodiscard]] Expected<std::string> find_run(std::string_view name) const;
    [[nodiscard]] Expected<StoredRun> load_run(std::string_view id) const;
    // The newest run of a series that is dated after a time.
    struct LaterRun {
        std::string id;
        WallTime started{};
    };
    [[nodiscard]] Expected<std::optional<LaterRun>> later_run(std::string_view series,
                                                              WallTime started) const;
    // Numbers of stored rows.
    struct Extent {
        std::int64_t modules = 0, attempts = 0;
        StateCounts states{};      // of its tests
        std::int64_t rowless = 0;  // those of them that have no row of their own
    };
    [[nodiscard]] Expected<Extent> extent_of(std::string_view run) const;
    // Visits the run's modules in the order of the plan, one in memory at a time; with `only`, the
    // one of this path. `see` may write to this store.
    [[nodiscard]] Expected<void> each_module(std::string_view run, const ModuleVisitor& see,
                                             std::string_view only = {}) const;
    // Each test's verdict, by its id.
    struct Verdict {
        std::string test;
        parsers::State state = parsers::State::not_run;
        std::int64_t tests = 1;  // as parsers::CaseRecord's
        friend bool operator==(const Verdict&, const Verdict&) = default;
    };
    [[nodiscard]] Expected<std::vector<Verdict>> verdicts(std::string_view run) const;
    // At most `limit` of a run's tests that come after the cursor `after` (0: from the first), in
    // the order in which they were stored. A page costs what it holds, wherever it begins.
    [[nodiscard]] Expected<std::vector<CaseSummary>> cases(std::string_view run,
                                                           const CaseFilter& filter,
                                                           std::int64_t after, int limit) const;
    // Newest first; over all suites where `suite` is empty. Empty for an unknown test.
    [[nodiscard]] Expected<std::vector<HistoryEntry>> case_history(
        std::string_view test, std::string_view suite = {}) const;
    // Ids of at most `limit` tests that contain `part`, sorted, those that end in "::part" first;
    // of one run, or of all where `run` is empty. Reads every test of the database.
    [[nodiscard]] Expected<std::vector<std::string>> tests_containing(std::string_view part,
                                                                      std::string_view run,
                                                                      int limit) const;
    // Number of tests that the latest attempt with a finished collection collected.
    [[nodiscard]] Expected<std::optional<std::int64_t>> last_known_cases(
        std::string_view suite, std::string_view module) const;
    // Complete runs of the suite in another way (shim, device, simulated device, policy, fallback),
    // newest first, at most 20. They have the same clean revision and torch, and give verdicts.
    // Empty if the revision is not known.
    [[nodiscard]] Expected<std::vector<RunInfo>> other_ways_of(std::string_view run) const;
    // Empty: the run has no such test.
    [[nodiscard]] Expected<std::optional<TestVerdict>> verdict_of(std::string_view run,
                                                                  std::string_view test) const;
    [[nodiscard]] Expected<SuitePast> past_of(std::string_view suite) const;

    // Not part of the interface: the connection, for the store's own tests.
    struct Impl;
    [[nodiscard]] Impl& impl() const { return *impl_; }

  private:
    explicit Store(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace compat::store
