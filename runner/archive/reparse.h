// Re-parses a stored run's files and compares or replaces its stored results. Not for the database
// as a whole (rebuild.h).
#pragma once

#include <cstdint>
#include <functional>

#include "runner/analysis/agreement.h"
#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "runner/store/store.h"

namespace compat::archive {

struct ReparseCounts {
    std::int64_t attempts = 0, tests = 0;
    std::int64_t unread = 0;  // attempts that keep what is stored of them
    std::int64_t differ = 0;  // tests
    std::int64_t other_causes = 0;
};

using OnDifference = std::function<void(const analysis::Difference&, int attempt)>;

// Changes nothing. Calls `see` for each test that differs. Errors: usage, where an imported run's
// copies are gone; io.
[[nodiscard]] Expected<ReparseCounts> reparse(const store::Store& store, const fs::path& results,
                                              const store::StoredRun& run, const OnDifference& see);

// Stores what today's parsers read. The run has its end.
[[nodiscard]] Expected<void> apply_reparse(const fs::path& results, const store::StoredRun& run);

}  // namespace compat::archive
