// Finds gaps (runner/base/gap.h) in a run's records, counts the tests they block, and decides when
// one is closed. Pure. Not for gaps in torch itself (scan/gap_scan.h) nor for storing them
// (runner/store/gaps.h).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "parsers/record.h"
#include "runner/base/gap.h"

namespace compat::analysis {

struct Target {
    std::string device;  // "mps", "cpu"
    bool simulated = false;
};

// From the shim's record (refusals, stubs, fallbacks) and from failures that name a missing
// operator, dtype or symbol, also in imported logs. A failure that names another device than the
// run's ("the MPS device", "the 'CUDA' backend", a kernel "addmm_impl_cpu_") is a gap of that
// device, not simulated. A gap in both counts once, as recorded.
[[nodiscard]] std::vector<GapHit> gap_hits(const parsers::ModuleRecord& record,
                                           const Target& target);

// Gaps that the failure's text names; none for an assertion. `test` stays empty.
[[nodiscard]] std::vector<GapHit> gaps_in(const parsers::Failure& failure, const Target& target);

// The facts that follow from the key alone.
[[nodiscard]] GapFacts facts_of(const GapKey& key);

struct BlockedCount {
    std::int64_t tests = 0;            // that failed because of the gap
    std::int64_t unblocked_alone = 0;  // of these: in one of the runs, no other gap blocked them
};
// `runs`: the hits of each run. Runs are independent: a gap that blocks a test in one run, on one
// device, does not block it in another.
[[nodiscard]] std::map<GapKey, BlockedCount> count_blocked(
    const std::vector<std::vector<GapHit>>& runs);

// A run that comes after runs in which gaps blocked tests.
struct LaterRun {
    std::string suite;
    std::set<std::string> passed;  // with the mark `device`; on a CPU host `redirected`
    std::vector<GapHit> hits;
};
struct GapProgress {
    std::vector<GapHit> passed;  // tests that a gap had blocked, with count 0
    std::vector<GapKey> closed;  // not met by the run, and all tests that it blocked pass
};
// `blocked`: tests of gaps that a pass with the run's torch and settings can close. A row that is
// not a test ("a.py::<module>") passed if a test below it did.
[[nodiscard]] GapProgress progress_of_gaps(const std::vector<BlockedTest>& blocked,
                                           const LaterRun& run);

}  // namespace compat::analysis
