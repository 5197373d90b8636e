// Updates the gap log from a run: adds its hits and closes gaps that it no longer meets. Not here:
// reading the log (reports/gaps.h), and what scans and users write into it (gap_record.h).
#pragma once

#include <string>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/gap.h"
#include "runner/store/store.h"

namespace compat::archive {

// What a run changes in the log.
struct GapLogUpdate {
    std::vector<GapFacts> met;
    std::vector<GapHit> hits;
    std::vector<GapKey> closed;
};

// For a run that has ended. Reads the store and writes nothing.
[[nodiscard]] Expected<GapLogUpdate> gap_log_update(const store::Store& store,
                                                    const std::string& run);
// Idempotent.
[[nodiscard]] Expected<void> save_gap_log(const store::Store& store, const std::string& run,
                                          const GapLogUpdate& update);

// Both.
[[nodiscard]] Expected<void> log_gaps(const store::Store& store, const std::string& run);

}  // namespace compat::archive
