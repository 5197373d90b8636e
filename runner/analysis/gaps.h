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
// the run's ("the MPS device", "the 'CUDA' backend") is of that one.
[[nodiscard]] std::vector<GapHit> gap_hits(const parsers::ModuleRecord& record,
                                           const Target& target);

// What a failure's text says; `test` is left empty.
[[nodiscard]] std::vector<GapHit> gaps_in(const parsers::Failure& failure, const Target& target);

// A gap's facts where only a hit is known of it.
[[nodiscard]] GapFacts facts_of(const GapKey& key);

struct Blocked {
    std::int64_t tests = 0;            // that failed of it
    std::int64_t unblocked_alone = 0;  // of these, those that no other gap is known to block
};
[[nodiscard]] std::map<GapKey, Blocked> blocked_by(const std::vector<GapHit>& hits);

// Whether a gap that blocked `blocked` in the run that last met it is closed by a later run on the
// same target with the same torch or a newer one: of these tests some ran and all that ran passed,
// on the device where there is one. `met`: this run met the gap, too.
struct LaterRun {
    std::set<std::string> passed;      // carrying the mark `device`; on a CPU host `redirected`
    std::set<std::string> not_passed;  // ran and did not pass, or passed without that mark
};
[[nodiscard]] bool closes(const std::set<std::string>& blocked, const LaterRun& run, bool met);

}  // namespace compat::analysis
