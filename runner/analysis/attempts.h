// Merges a module's attempts into one record: which attempt decides each test's verdict, and which
// tests are flaky. Pure. Not for which attempt comes next (runner/plan/retry_policy.h).
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "parsers/outcomes.h"
#include "parsers/record.h"
#include "runner/base/attempt.h"

namespace compat::analysis {

struct Attempt {
    const parsers::ModuleRecord* record = nullptr;
    int number = 1;
    AttemptKind kind = AttemptKind::whole;
};

// One test in one attempt.
struct CaseAttempt {
    size_t attempt = 0;  // index
    size_t row = 0;      // in that attempt's record.cases
};

struct Verdict {
    std::vector<CaseAttempt> attempts;  // in order
    CaseAttempt decisive;
    bool flaky = false;  // as in Stability
    bool fork_sensitive = false;
};

// A test's result in one attempt.
struct ResultInAttempt {
    parsers::State state = parsers::State::not_run;
    bool forked = false;   // the attempt's process was a fork
    bool decides = false;  // the attempt decides the test's verdict
};

struct Stability {
    bool flaky = false;           // passed after it had broken in a process of the same kind
    bool fork_sensitive = false;  // broke either only in a fork or only in a fresh process
};

// Judges one test's results in all attempts but the diagnostic ones. One of them decides.
[[nodiscard]] Stability stability_of(std::span<const ResultInAttempt> results);

struct Verdicts {
    // Each test once, with its result in the last attempt that reached it, in the order in which
    // tests were first seen. The outcome is that of the whole module: failures that a later attempt
    // undid do not count. The other fields:
    //  - what devices did in a test: as its deciding attempt recorded; outside of tests: of all
    //  - framework, versions, shim: of the first attempt that knows them, of the shim the first
    //    that imported torch
    //  - ready: of any attempt; diagnostics: of all
    //  - forked, finished, from_text, closing: unset, as they are of one process
    parsers::ModuleRecord record;
    std::vector<Verdict> tests;  // one for each of record.cases
};

// `attempts` is in order and not empty. Rows of the module and its fixtures are outdated once the
// whole module runs again, and a row "nothing ran" once something did. A fixture that breaks only
// while some tests run again adds no row: the partial run may have caused it.
[[nodiscard]] Verdicts verdicts_of(const std::vector<Attempt>& attempts);
// For a module with one attempt.
[[nodiscard]] Verdicts verdicts_of_one(parsers::ModuleRecord record);

// `verdicts_of` for stored attempts: each has `record`, `attempt` and `kind`.
template <class Jobs>
[[nodiscard]] Verdicts verdicts_of_jobs(const Jobs& jobs) {
    std::vector<Attempt> attempts;
    for (const auto& job : jobs) attempts.push_back({&job.record, job.attempt, job.kind});
    return verdicts_of(attempts);
}

// The same without a copy: moves the record out of a single attempt.
template <class Jobs>
[[nodiscard]] Verdicts take_verdicts(Jobs& jobs) {
    return jobs.size() == 1 ? verdicts_of_one(std::move(jobs.front().record))
                            : verdicts_of_jobs(jobs);
}

// Whether reports list the test among those that need attention.
[[nodiscard]] constexpr bool needs_attention(parsers::State state) {
    return parsers::is_broken(state);
}

}  // namespace compat::analysis
