// Computes a run's exit code (runner/base/exit_code.h) from its results. Pure.
#pragma once

#include "parsers/record.h"
#include "runner/analysis/expectations/judge.h"
#include "runner/base/exit_code.h"

namespace compat::analysis {

struct RunFacts {
    bool interrupted = false;
    bool infrastructure =
        false;                 // a log or the database could not be written, or a child not started
    bool unaccounted = false;  // counts of a module disagree
    bool usage = false;        // a test named by the user does not exist
    bool unexpected = false;   // an unexpected result or an incomplete module
    bool nothing_to_do = false;  // a shard without modules
    long collected = 0;
};

// Adds one module's record. Does not set `unaccounted` (accounting.h).
void add(RunFacts& facts, const parsers::ModuleRecord& record,
         const Expectations& expectations = {});

[[nodiscard]] ExitCode exit_code(const RunFacts& facts);

}  // namespace compat::analysis
