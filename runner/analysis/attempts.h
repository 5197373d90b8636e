// A module's attempts as one record: which attempt's word counts for each test, and what the others
// make of it. Pure. Not here: which attempt comes next (runner/plan/retry_policy.h).
#pragma once

#include <vector>

#include "parsers/record.h"
#include "runner/base/attempt.h"

namespace compat::analysis {

struct Attempt {
    const parsers::ModuleRecord* record = nullptr;
    int number = 1;
    AttemptKind kind = AttemptKind::whole;
};

// How one test went in one attempt.
struct Try {
    size_t attempt = 0;  // index
    size_t row = 0;      // in that attempt's record.cases
};

struct Verdict {
    std::vector<Try> tries;  // in order; of a row that was not run again, one
    Try decisive;
    bool flaky = false;           // passed after it had broken in a process like this one
    bool fork_sensitive = false;  // broke in a fork and not in a fresh process, or the other way
};

struct Verdicts {
    // Each test once, as the last attempt that reached it left it, in the order in which tests were
    // first seen. What happened on devices is told by the attempt that decided. The outcome is that
    // of the module as a whole: what one attempt met and a later one undid is not in it.
    parsers::ModuleRecord record;
    std::vector<Verdict> of;  // one for each of record.cases
};

// `attempts` is not empty and in order. Rows of the module and its fixtures count no more once the
// whole module was run again, nor one that says that nothing ran once anything was. What breaks in
// one while only some tests run again or alone is no result of the module's, unless it had that row
// before: it is of their own making.
[[nodiscard]] Verdicts verdicts_of(const std::vector<Attempt>& attempts);

// `verdicts_of` for whatever holds a module's attempts as the store does: `record`, `attempt` and
// `kind` of each.
template <class Jobs>
[[nodiscard]] Verdicts verdicts_of_jobs(const Jobs& jobs) {
    std::vector<Attempt> attempts;
    for (const auto& job : jobs) attempts.push_back({&job.record, job.attempt, job.kind});
    return verdicts_of(attempts);
}

// States that nobody wants to see, unless an expectation says so.
[[nodiscard]] constexpr bool needs_attention(parsers::State state) {
    using enum parsers::State;
    return state == failed || state == errored || state == crashed || state == timed_out;
}

}  // namespace compat::analysis
