// Events of a run as JSON lines for programs (--progress json).
// docs/reference/file-formats.md and reports/schemas/progress.schema.json
// describe the keys. Pure; prints nothing.
#pragma once

#include <map>
#include <string>

#include "runner/base/clock.h"
#include "runner/display/module_done.h"
#include "runner/exec/event.h"

namespace compat::display {

// A job in progress.
struct RunningJob {
    std::string module;
    int attempt = 1;
    int pid = 0;
    bool forked = false;
    SteadyTime since;
    exec::Progress progress;
};

struct Moment {
    WallTime wall;
    SteadyTime steady;
};

[[nodiscard]] double seconds_between(SteadyTime from, SteadyTime to);

// The line of an event without its newline; empty: the event is internal (Tick). `running` has the
// event's job, also if it has just finished.
[[nodiscard]] std::string progress_line(const exec::RunEvent& event, const std::string& run,
                                        const std::map<size_t, RunningJob>& running,
                                        const Moment& now);
// A test that broke while its module runs. `last`: it will not be confirmed or retried.
[[nodiscard]] std::string broken_line(const exec::TestEnd& end, size_t job, bool last,
                                      const std::map<size_t, RunningJob>& running,
                                      const Moment& now);
// "AssertionError: 1 != 2"
[[nodiscard]] std::string key_line_of(const exec::TestEnd& end);
[[nodiscard]] std::string module_line(const ModuleDone& done, const Moment& now);

}  // namespace compat::display
