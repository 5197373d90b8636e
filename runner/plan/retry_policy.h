// Which attempt a module needs next, given its attempts so far: a pure function, so that a killed
// run continues from what is stored as if it had never stopped. Not here: how a test's outcome was
// read (parsers), which attempt decides (runner/analysis/attempts.h), which failures of forked
// processes another module confirms (confirmation.h).
//
// The rules, in this order:
//  - The first attempt is the whole module, as asked for. Only this one may be forked.
//  - A whole attempt that could not say which tests the module has, or broke outside of them, is
//    made again where it was forked (a fork's word is not enough) or retries are left.
//  - What was collected and never reached runs in a fresh process, until limits.restarts are used
//    up. A class or module fixture in which processes died twice takes its tests with it; where a
//    process dies twice before any test, or stops before one in order, nothing more is tried.
//  - A test that crashed or timed out runs once more alone.
//  - Tests that failed run again together: once where only a forked process has said so and the
//    failure is not deferred, and as often as retries say. Where one passes then that had failed in
//    a fork, the whole module runs once more in a fresh process: what ran before a test may be why
//    it failed. Elsewhere it runs once more alone, which decides; restarts limit their number.
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
    bool stopped = false;  // by us: an interrupt, the end of the runner
    bool known = true;     // collection was over and nothing in it failed: these are its tests
    std::vector<std::string> asked;  // of rest, alone and again: the ids
    std::vector<Row> rows;
};

struct AttemptLimits {
    int restarts = 20;
    int retries = 0;
    // The run stops after this many failed tests; 0: never. Then what failed is tried again before
    // what is left runs.
    std::int64_t maxfail = 0;
};

struct AttemptRequest {
    AttemptKind kind = AttemptKind::whole;
    std::vector<std::string> only;  // ids; empty with `whole`

    friend bool operator==(const AttemptRequest&, const AttemptRequest&) = default;
};

// Empty: the module is done.
[[nodiscard]] std::optional<AttemptRequest> next_attempt(const std::vector<Attempt>& attempts,
                                                         const AttemptLimits& limits);

// Why tests will never run.
class NotRunReasons {
  public:
    NotRunReasons(std::string why, std::vector<std::string> lost)
        : why_(std::move(why)), lost_(std::move(lost)) {}
    // "" while it may still be reached.
    [[nodiscard]] std::string reason_for(std::string_view id) const;

  private:
    std::string why_;
    std::vector<std::string> lost_;  // what the ids under a lost fixture begin with
};
[[nodiscard]] NotRunReasons not_run_reasons(const std::vector<Attempt>& attempts,
                                            const AttemptLimits& limits);

}  // namespace compat::plan
