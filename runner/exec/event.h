// The events of a run: the only interface from the executor to the display and the store. Not here:
// results of tests, which parsers reads from a module's files when it has finished.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runner/base/attempt.h"
#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/process/process_end.h"

namespace compat::exec {

// A process of the job that outlived its child, or a child that SIGKILL did not end.
struct SurvivingProcess {
    int pid = 0;
    std::vector<std::string> argv;
    bool killed = true;  // false: it is alive, in a wait that no signal ends
    std::string state;   // if not killed: "uninterruptible sleep (D)"
};

// Files of TMPDIR that a child left in its sandbox, which is gone.
struct LeftFiles {
    struct File {
        std::string path;  // relative to TMPDIR
        std::int64_t bytes = 0;
    };
    std::vector<File> files;  // the first of them
    std::int64_t count = 0, bytes = 0;
};

// Read from the progress protocol (progress.h).
struct Progress {
    std::int64_t collected = 0;
    std::int64_t ended = 0;
    bool ready = false;       // collection has finished
    std::string current;      // id of the running test; empty: none
    bool session = false;     // on SIGUSR1 it writes its stacks to the log
    std::int64_t starts = 0;  // of tests; each restarts the test timeout
    SteadyTime since{};       // when `current` was first seen; set by the executor
    bool behind = false;      // events are unread: `current` may have ended
    bool operator==(const Progress&) const = default;
};

// A test that ended and did not pass, as the harness writes it (docs/reference/file-formats.md).
struct TestEnd {
    std::string id, state;
    std::string type, message;  // of its failure; empty: none
    bool operator==(const TestEnd&) const = default;
};

struct RunStarted {
    size_t jobs = 0;
    int parallel = 1;
};
struct JobStarted {
    size_t job = 0;  // index into the run's jobs
    int pid = 0;
    WallTime time;
    std::string name;  // of the job
    int attempt = 1;
    bool forked = false;  // from the zygote
};
struct JobProgress {
    size_t job = 0;
    Progress progress;
    std::vector<TestEnd> ends;  // since the last JobProgress
};
struct JobFinished {
    size_t job = 0;
    ProcessEnd end;
    AttemptCost cost;
    WallTime started;
    std::vector<SurvivingProcess> leaked;
    LeftFiles left;
    bool forked = false;                        // from the zygote
    std::optional<Error> infrastructure_error;  // an error of the runner, not of the suite
};
// For people: the run deviates from its settings, and why.
struct Note {
    std::string text;
};
// Sent twice a second while children run, for displays that show durations.
struct Tick {};
// SIGUSR1: show which tests run.
struct StatusRequested {};
// SIGTSTP (Ctrl-Z): the children are stopped and the runner stops next; later all continue.
// Deadlines exclude the time between.
struct Paused {};
struct Resumed {};
struct RunFinished {
    bool stopped = false;
    std::string reason;
    std::vector<size_t> not_started;  // after a stop
};

using RunEvent = std::variant<RunStarted, JobStarted, JobProgress, JobFinished, Note, Tick,
                              StatusRequested, Paused, Resumed, RunFinished>;

}  // namespace compat::exec
