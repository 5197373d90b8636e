// What became of the tests that never said how they ended, and of the module as a whole: decided
// from how far each test had come and how the process ended. Shared by every dialect.
#pragma once

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
};

// Gives each test of `record` that has not ended its one state, and the module its outcome and
// reason. `progress` runs parallel to record.cases. The rules:
//  - A death inside a test is that test's state: crashed, timed_out, or not_run when it was
//  stopped.
//    Its reason is how the process ended.
//  - A death outside any test (import, a class fixture, at exit after the last test) is the
//    pseudo-case `path::<module>`, crashed or timed_out, so that no death goes without a row. A
//    process that dies by a signal or hangs after the framework had finished counts as such a
//    death: the tests keep their states, the module is crashed, as its own exit status would say.
//    An ordinary exit code after `finish` says nothing that the tests do not say.
//  - What was collected and never started is not_run, and its reason names what stopped it.
//  - A module of which nothing at all is known (never started, not spawned, stopped in its import)
//  has
//    the pseudo-case as not_run; a job that was never started has no cases.
void settle(ModuleRecord& record, std::span<const Progress> progress, const Course& course,
            const ProcessEnd& end);

// How a process ended in words: "SIGSEGV", "exit code 3", "timed out after 30m".
[[nodiscard]] std::string words_for(const ProcessEnd& end);

}  // namespace compat::parsers
