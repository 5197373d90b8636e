// From what happened in a run to its exit code. Pure; the codes themselves are
// runner/base/exit_code.h.
#pragma once

#include <string_view>

#include "parsers/record.h"
#include "runner/base/exit_code.h"

namespace compat::analysis {

// Collected as modules end.
struct RunFacts {
    bool interrupted = false;
    bool infrastructure = false;  // a log, the database or a child could not be written or started
    bool unaccounted = false;     // a module's sums or closing lines do not agree
    bool usage = false;           // a test that was asked for by name is not there
    bool unexpected = false;      // a state that nobody wants to see
    bool nothing_to_do = false;   // a shard to which no module fell
    long collected = 0;
};

// A state that makes a run unexpected. An unexpected pass is one where the framework itself fails
// on it: unittest does, pytest only where xfail is strict, and then it says failed.
[[nodiscard]] bool is_unexpected(parsers::State state, std::string_view framework);

// Takes one module's record into the facts (all but `unaccounted`, which analysis decides).
void add(RunFacts& facts, const parsers::ModuleRecord& record);

[[nodiscard]] ExitCode exit_code(const RunFacts& facts);

}  // namespace compat::analysis
