// Where gaps (runner/base/gap.h) show in a run's records, how they are ranked, and when one is
// closed. Pure. Not for finding them in torch itself (gap_scan.h) nor for keeping them
// (runner/store/gaps.h).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/record.h"
#include "runner/base/gap.h"

namespace compat::analysis {

// What a run aims at.
struct Target {
    std::string device;  // "mps", "cpu"
    bool simulated = false;
};

// From the shim's record (refusals, stubs, fallbacks) and from what failures say of operators,
// dtypes and names that are missing, also in imported logs. A text that names another device than
// the run's ("the MPS device", "the 'CUDA' backend", a kernel "addmm_impl_cpu_") is of that one,
// not simulated. A gap that both tell of in one test counts as the record has it.
[[nodiscard]] std::vector<GapHit> gap_hits(const parsers::ModuleRecord& record,
                                           const Target& target);

// What a failure's text says, but for an assertion's; `test` is left empty.
[[nodiscard]] std::vector<GapHit> gaps_in(const parsers::Failure& failure, const Target& target);

// A gap's facts where only a hit is known of it.
[[nodiscard]] GapFacts facts_of(const GapKey& key);

struct Blocked {
    std::int64_t tests = 0;            // that failed of it
    std::int64_t unblocked_alone = 0;  // of these, those that failed of it alone in one of the runs
};
// Each run's hits. A failure is of one run, on one device: what blocks the test in another run, on
// another one, is not in its way.
[[nodiscard]] std::map<GapKey, Blocked> blocked_by(const std::vector<std::vector<GapHit>>& runs);

// What a later run says of tests that gaps blocked before it.
struct LaterRun {
    std::string suite;
    std::set<std::string> passed;  // carrying the mark `device`; on a CPU host `redirected`
    std::vector<GapHit> hits;
};
struct Mended {
    std::vector<GapHit> passed;  // tests that a gap had blocked, with count 0
    std::vector<GapKey> closed;  // not met by the run, and nothing that it blocked is left
};
// `blocked`: of gaps for which a pass with the run's torch and settings counts. A
// row that is no test ("a.py::<module>") passed where a test below it did.
[[nodiscard]] Mended mended_by(const std::vector<BlockedTest>& blocked, const LaterRun& run);

}  // namespace compat::analysis
