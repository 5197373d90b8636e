// Resolves the states of tests that never said how they ended, and the module's outcome: decided
// from how far each test had come and how the process ended. Shared by every dialect.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "parsers/record.h"

namespace compat::parsers {

// How far a collected test came.
enum class Progress { announced, started, ended };

// How far the framework came.
struct Course {
    bool ready = false;     // collection was over
    bool finished = false;  // it returned in order
    std::string fixture;    // the class or module fixture that was running last; empty: a test was
    // The case whose end was the last thing heard; empty: something began after it, or the text
    // does not tell.
    std::optional<size_t> last_end;
};

// Gives each test of `record` that has not ended its one state, and the module its outcome and
// reason. `progress` runs parallel to record.cases. The rules:
//  - A death inside a test is that test's state: crashed, timed_out, or not_run when it was
//    stopped. Its reason is how the process ended.
//  - A test that had used up its own limit and ended all the same, while its process was being
//    told to end, timed out; what began after it is not_run.
//  - A death outside any test is a pseudo-case, crashed or timed_out, so that no death goes without
//    a row: in a class or module fixture `path::Class::<setUpClass>`, elsewhere (import, between
//    tests, at exit after the last one) `path::<module>`. A
//    process that dies by a signal or hangs after the framework had finished counts as such a
//    death: the tests keep their states, the module is crashed, as its own exit status would say.
//  - So does an exit code after `finish` that the framework does not give for tests none of which
//    broke (a coverage threshold, `os._exit` at exit). Where tests broke, it is a diagnostic.
//  - An exit that the last case to end had asked for (SystemExit, KeyboardInterrupt, pytest.exit)
//    or that pytest's `<session>` explains stands in that case's row, and in no second one.
//  - A test that was collected and never started is not_run; its reason names what stopped it.
//  - A module of which nothing at all is known (never started, not spawned, stopped in its import)
//    has the pseudo-case as not_run; a job that was never started has no cases.
void resolve_unfinished(ModuleRecord& record, std::span<const Progress> progress,
                        const Course& course, const ProcessEnd& end);

}  // namespace compat::parsers
