// What happens during a run, as values: the only seam from the executor to the display and the
// store. Not here: what a module's tests did. That is read from its files when it has finished
// (parsers).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/process_end.h"

namespace compat::exec {

// What the child and those of its children that it waited for used (wait4(2)).
struct Usage {
    double user_s = 0;
    double system_s = 0;
    std::uint64_t max_rss_bytes = 0;  // of its largest process
    // The largest sum seen over all the job's processes, a few times a second; pages that they
    // share are counted for each. At least `max_rss_bytes`.
    std::uint64_t peak_rss_bytes = 0;
    std::uint64_t read_bytes = 0;  // from and to storage: what the page cache kept is not in it
    std::uint64_t written_bytes = 0;
};

// A process of the job's that outlived its child, or the child itself where it could not be ended.
struct LeakedProcess {
    int pid = 0;
    std::vector<std::string> argv;
    bool killed = true;  // false: it is still there, in a wait that no signal ends
    std::string state;   // then: "uninterruptible sleep (D)"
};

// Counts from the progress protocol (progress.h).
struct Progress {
    std::int64_t collected = 0;
    std::int64_t ended = 0;
    bool ready = false;       // collection is over
    std::string current;      // id of the test that runs now; empty: none
    bool session = false;     // it writes its stacks to the log when it gets a SIGUSR1
    std::int64_t starts = 0;  // of tests; each starts the clock of a test anew
    SteadyTime since{};       // when `current` was seen to run; set by the executor
    bool behind = false;      // more is written than was read: `current` may have ended
    bool operator==(const Progress&) const = default;
};

// A test that ended and did not pass, in the harness's words (docs/reference/file-formats.md).
struct TestEnd {
    std::string id, state;
    std::string type, message;  // of its failure; empty: it has none
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
    std::string name;  // of the job, as is the next
    int attempt = 1;
    bool forked = false;  // from the zygote
};
struct JobProgress {
    size_t job = 0;
    Progress progress;
    std::vector<TestEnd> ends;  // since the last time
};
struct JobFinished {
    size_t job = 0;
    ProcessEnd end;
    Usage usage;
    WallTime started;
    std::chrono::duration<double> duration{};
    std::vector<LeakedProcess> leaked;
    std::uint64_t dropped_log_bytes = 0;  // cut from the middle of the log
    bool forked = false;                  // it came from the zygote
    std::optional<Error> trouble;  // the log could not be written: our failure, not the suite's
};
// For people: the run does something otherwise than it was asked to, and why.
struct Note {
    std::string text;
};
// Time has passed: for displays that show ages. Comes twice a second while children run.
struct Tick {};
// Somebody wants to know what runs (SIGUSR1).
struct StatusAsked {};
// The runner is about to be stopped by its terminal, its children are (SIGTSTP, Ctrl-Z); all go on.
// No deadline counts the time between.
struct Paused {};
struct Resumed {};
// After an interrupt: the jobs that never started.
struct RunFinished {
    bool stopped = false;
    std::string reason;
    std::vector<size_t> not_started;
};

using RunEvent = std::variant<RunStarted, JobStarted, JobProgress, JobFinished, Note, Tick,
                              StatusAsked, Paused, Resumed, RunFinished>;

}  // namespace compat::exec
