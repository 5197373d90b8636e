// Decides which attempt a module needs next from its attempts so far. A pure function: a killed run
// continues from what is stored as if it had never stopped. Not here: reading a test's outcome
// (parsers), which attempt decides (runner/analysis/attempts.h), which failures of forked processes
// another module confirms (confirmation.h).
//
// With `seeds`, whole attempts follow each other, each with other random numbers, until one ends
// before its tests do. Else these rules hold, in this order:
//  - The first attempt runs the whole module, as selected. Only this attempt may be forked.
//  - A whole attempt that did not get through collection, or broke outside the tests, is repeated
//    if it was forked or if retries are left.
//  - Tests that were collected but not reached run in a fresh process, at most limits.restarts
//    times. If processes died twice in a class or module fixture, its tests do not run. If a
//    process dies twice before its first test, or exits without running one, nothing more is tried.
//  - A test that crashed or timed out runs once more, alone.
//  - Failed tests run again together: once if only a forked process ran them and the failure is not
//    deferred, and up to `retries` times. If one then passes that had failed in a fork, the whole
//    module runs once more in a fresh process, because an earlier test may have caused the failure.
//    Otherwise it runs once more alone, and that attempt decides; limits.restarts bounds these.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/attempt.h"

namespace compat::plan {

// A test's result in one attempt.
enum class Fate {
    good,  // passed, skipped, or failed as expected
    bad,   // failed
    died,  // its process crashed or hung in it
    unreached
};

struct Row {
    std::string id;
    Fate fate = Fate::unreached;
    bool pseudo = false;    // not a test: a fixture, or the module itself
    bool deferred = false;  // failed in a fork: another module may confirm it (confirmation.h)
};

struct Attempt {
    AttemptKind kind = AttemptKind::whole;
    bool forked = false;
    bool stopped = false;            // the runner stopped it: an interrupt, or the runner's own end
    bool known = true;               // collection succeeded: `rows` has all tests
    std::vector<std::string> asked;  // ids that a rest, alone or again attempt selected
    std::vector<Row> rows;
};

struct AttemptLimits {
    int restarts = 20;
    int retries = 0;
    // The run stops after this many failed tests; 0: never. With a limit, failed tests are repeated
    // before unreached ones run.
    std::int64_t maxfail = 0;
    int seeds = 0;  // whole attempts, each with other random numbers; 0: no such
};

struct AttemptRequest {
    AttemptKind kind = AttemptKind::whole;
    std::vector<std::string> only;  // ids; empty with `whole`

    friend bool operator==(const AttemptRequest&, const AttemptRequest&) = default;
};

// Empty: the module is done.
[[nodiscard]] std::optional<AttemptRequest> next_attempt(const std::vector<Attempt>& attempts,
                                                         const AttemptLimits& limits);

// Why tests of a module will not run.
class NotRunReasons {
  public:
    NotRunReasons(std::string why, std::vector<std::string> lost)
        : why_(std::move(why)), lost_(std::move(lost)) {}
    // Empty if a later attempt may reach it.
    [[nodiscard]] std::string reason_for(std::string_view id) const;

  private:
    std::string why_;
    std::vector<std::string> lost_;  // prefixes of ids whose fixture is given up
};
[[nodiscard]] NotRunReasons not_run_reasons(const std::vector<Attempt>& attempts,
                                            const AttemptLimits& limits);

}  // namespace compat::plan
