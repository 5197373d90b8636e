// The parsers' results for a module's files: values that travel to the store and the reports.
// Not here: how the bytes came to be (runner/exec), how records are kept (runner/store).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/diagnosis/diagnosis.h"
#include "runner/base/process/process_end.h"

namespace compat::parsers {

// The one state in which a collected test ends. `not_run` carries its reason.
enum class State {
    passed,
    failed,
    errored,
    skipped,
    xfailed,
    xpassed,
    crashed,
    timed_out,
    not_run
};

inline constexpr std::array<std::string_view, 9> kStateNames{"passed",  "failed",    "errored",
                                                             "skipped", "xfailed",   "xpassed",
                                                             "crashed", "timed_out", "not_run"};

[[nodiscard]] constexpr std::string_view name_of(State s) {
    return kStateNames[static_cast<size_t>(s)];
}
[[nodiscard]] std::optional<State> state_of(std::string_view name);

// How a module ended as a whole.
enum class ModuleOutcome {
    completed,
    load_error,  // import or collection failed: one errored pseudo-case `<module>`
    crashed,
    timed_out,
    no_tests,
    interrupted,
    spawn_failed,
    not_run,
};
inline constexpr std::array<std::string_view, 8> kModuleOutcomeNames{
    "completed", "load_error",  "crashed",      "timed_out",
    "no_tests",  "interrupted", "spawn_failed", "not_run"};

[[nodiscard]] constexpr std::string_view name_of(ModuleOutcome o) {
    return kModuleOutcomeNames[static_cast<size_t>(o)];
}
[[nodiscard]] std::optional<ModuleOutcome> module_outcome_of(std::string_view name);

// Where in a test's life its deciding outcome came from; decides what a framework's own closing
// line counts (runner/analysis/accounting.h).
enum class Phase {
    call,
    setup,
    teardown,
    class_setup,
    class_teardown,
    module_setup,
    module_teardown,
    load
};
inline constexpr std::array<std::string_view, 8> kPhaseNames{
    "call",           "setup",        "teardown",        "class_setup",
    "class_teardown", "module_setup", "module_teardown", "load"};
[[nodiscard]] constexpr std::string_view name_of(Phase p) {
    return kPhaseNames[static_cast<size_t>(p)];
}
[[nodiscard]] std::optional<Phase> phase_of(std::string_view name);

// A line of source.
struct Location {
    std::string file;  // absolute as the child saw it
    int line = 0;      // from 1; 0: unknown
    friend bool operator==(const Location&, const Location&) = default;
};

struct Frame {
    std::string file;  // this and the line as in a Location
    int line = 0;
    std::string function;
    friend bool operator==(const Frame&, const Frame&) = default;
};

struct Failure {
    std::string type;           // exception type as the framework names it: "AssertionError"
    std::string message;        // str(exception)
    std::string traceback;      // as the framework printed it
    std::vector<Frame> frames;  // outermost first
    Phase phase = Phase::call;
    // As the framework counted it, failed or errored; empty: by the test's state (the first
    // failure) or by the type (`also`).
    std::optional<State> counted;
    // Worked out for every failure of an attempt when all else is known (attempt.h).
    std::optional<Diagnosis> diagnosis;
    std::string signature;  // diagnosis/signature.h

    // Type and first line of the message: "AssertionError: 1 != 2". One line.
    [[nodiscard]] std::string first_line() const;
    // The line that says what went wrong: its diagnosis's, else the first.
    [[nodiscard]] std::string key_line() const;
    friend bool operator==(const Failure&, const Failure&) = default;
};

struct SubCase {
    std::string label;  // "(i=3)" or "[message] (i=3)"
    State state = State::passed;
    std::string reason;
    std::optional<Failure> failure;
    friend bool operator==(const SubCase&, const SubCase&) = default;
};

// Models and data that a test got from a hub, or not: "models/org/name", "datasets/name", or an
// address (<attempt>.hub.jsonl, docs/reference/file-formats.md).
struct HubNames {
    std::vector<std::string> names;  // in the alphabet's order; kMostHubNames at most
    std::int64_t count = 0;          // of all

    [[nodiscard]] bool any() const { return count > 0; }
    friend bool operator==(const HubNames&, const HubNames&) = default;
};
inline constexpr std::size_t kMostHubNames = 20;

struct CaseRecord {
    std::string id;    // path::Class::test[params], path = the module run; "#2" for a repeated id
    std::string name;  // the framework's own, to select it: "tests.test_a.A.test_x", a node id
    State state = State::not_run;
    Phase phase = Phase::call;
    std::string reason;  // of skipped, xfailed, crashed, timed_out, not_run
    double duration_s = 0;
    Location location;     // of the test's `def`
    bool started = false;  // the framework began it; under a failed class fixture it never does
    std::optional<std::int64_t> started_ms;  // since 1970, UTC; empty: nobody said when
    // The framework's outcome of the test's call, where `state` differs: a tear-down broke
    // after a skip, only sub-tests failed.
    std::optional<State> call_state;
    bool pseudo = false;     // `<module>`, `Class::<tearDownClass>`: a row that is not a test
    std::int64_t tests = 1;  // that the row stands for; other than 1: they have no name
    std::optional<Failure> failure;
    std::vector<Failure> also;  // further failures of the same test (a tear-down that broke, too)
    std::vector<SubCase> subcases;
    HubNames generated;  // made up by the hub, and used
    HubNames missing;    // asked for, and the hub could not give it
    // Attempts before this one that a file of results tells of, in order. `split_attempts`
    // (parsers/import/importers.h) makes attempts at the module of them before they are stored.
    std::vector<CaseRecord> earlier;

    // In one line why it ended so: the key line of its failure, or of the first sub-test that
    // failed; else the reason.
    [[nodiscard]] std::string why() const;
    friend bool operator==(const CaseRecord&, const CaseRecord&) = default;
};

// One site of redirection, from <attempt>.devices.jsonl (docs/reference/file-formats.md).
struct DeviceEvent {
    std::string test;   // case id; empty: outside any test (import, collection, exit)
    std::string kind;   // redirect, fold, override, stub, refusal, fallback
    std::string op;     // "aten::empty.memory_format" or "torch.cuda.is_available"
    std::string from;   // device asked for: "cuda:0"
    std::string to;     // device given: "cpu"
    Location location;  // innermost frame outside torch's package
    std::int64_t count = 0;
    // "TypeError: Cannot convert …", of a refusal that was not raised (keep going); else empty.
    std::string message{};
    friend bool operator==(const DeviceEvent&, const DeviceEvent&) = default;
};

// How many kernels a test ran on a device ("cpu", "cuda", "mps"), from <attempt>.devices.jsonl.
struct KernelCount {
    std::string test;
    std::string device;
    std::int64_t count = 0;
    friend bool operator==(const KernelCount&, const KernelCount&) = default;
};

// A sum of figures that a file names, which may be anything; both are at least 0.
inline constexpr std::int64_t kMostCounted = std::int64_t{1} << 53;  // exact in any JSON reader
[[nodiscard]] constexpr std::int64_t capped_sum(std::int64_t a, std::int64_t b) {
    return a >= kMostCounted - std::min(b, kMostCounted) ? kMostCounted : a + b;
}

// Calls of a collective from one line of source, by all processes of an attempt together.
struct CollectiveCalls {
    std::string test;        // as DeviceEvent::test
    std::string op;          // "all_reduce"
    std::string group;       // as torch names it
    std::int64_t ranks = 0;  // of the group
    Location location;
    std::int64_t count = 0;
    std::int64_t bytes = 0;  // of each call the larger of its tensors on the rank
    friend bool operator==(const CollectiveCalls&, const CollectiveCalls&) = default;
};

// Steps of optimizers in processes that are ranks of a group, added up over the ranks.
struct OptimizerSteps {
    std::string test;
    std::int64_t ranks = 0;
    std::int64_t count = 0;
    friend bool operator==(const OptimizerSteps&, const OptimizerSteps&) = default;
};

// The shim's own words when it was activated in the child.
struct ShimSession {
    std::string version;
    std::string torch;
    std::string host;       // cpu, cuda, mps
    std::string mode;       // missing, full
    std::string simulated;  // empty: nothing simulated
    bool masquerade = false;
    friend bool operator==(const ShimSession&, const ShimSession&) = default;
};

// Something a reader of the results should know. `offset` is a byte offset in `file`.
struct Diagnostic {
    std::string file;  // "log", "events", "devices", "hub"
    std::int64_t offset = 0;
    std::string message;
    friend bool operator==(const Diagnostic&, const Diagnostic&) = default;
};

// A framework's closing lines, read from the log's text (stored as "closing"). All are counts of
// the framework's own kind, by its own words ("failures", "errors", "skipped", "expected failures",
// "passed", …).
struct FrameworkSummary {
    std::string text;  // "Ran 3 tests … FAILED (failures=1)" / "=== 1 failed, 2 passed in 0.1s ==="
    std::optional<std::int64_t> ran;  // unittest's `Ran N tests`
    std::vector<std::pair<std::string, std::int64_t>> counts;
    friend bool operator==(const FrameworkSummary&, const FrameworkSummary&) = default;
};

// Where and when another tool ran tests, as its file says; empty: it does not.
struct Origin {
    std::string job, shard, host;
    std::optional<std::int64_t> attempt;               // its number, from 0 or 1
    std::optional<std::int64_t> started_ms, ended_ms;  // since 1970, UTC
    bool zoned = false;                                // false: nobody says of which zone they are
    friend bool operator==(const Origin&, const Origin&) = default;
};

// Everything known about one attempt at one module.
struct ModuleRecord {
    std::string path;               // the module as planned: "tests/test_ops.py"
    std::string framework;          // "unittest", "pytest"
    std::string framework_version;  // Python's for unittest, pytest's own; empty: unknown
    std::string python_version;
    ModuleOutcome outcome = ModuleOutcome::completed;
    std::string reason;          // of every outcome but completed
    std::int64_t collected = 0;  // as announced by the harness, pseudo-cases included
    std::vector<CaseRecord> cases;
    bool forked = false;     // its process came from the zygote (warm start)
    bool ready = false;      // collection was over: these are all its tests
    bool finished = false;   // the framework returned in order: only then are its closing lines due
    bool from_text = false;  // read from the log's text: what only the events know is missing
    std::optional<ShimSession> shim;  // empty: it was not active in this process
    std::vector<DeviceEvent> device_events;
    std::vector<KernelCount> kernels;
    std::vector<CollectiveCalls> collectives;
    std::vector<OptimizerSteps> optimizer_steps;
    std::vector<Diagnostic> diagnostics;
    std::optional<FrameworkSummary> closing;
    Origin origin;  // of imported results
    friend bool operator==(const ModuleRecord&, const ModuleRecord&) = default;
};

}  // namespace compat::parsers
