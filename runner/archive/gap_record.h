// <results>/gaps.jsonl: gaps from scans and fields that users set, to rebuild the gap log with the
// database (rebuild.cc). Gaps that runs met are read from the runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "runner/store/gaps.h"

namespace compat::archive {

// Each appends to the file in `results`, then writes to the log of `store`.
[[nodiscard]] Expected<void> put_scan(const store::Store& store, const fs::path& results,
                                      const std::vector<GapFacts>& gaps, std::string_view device,
                                      std::string_view torch);
[[nodiscard]] Expected<void> set_gap(const store::Store& store, const fs::path& results,
                                     const GapKey& gap, std::string_view field,
                                     std::string_view value);

struct GapRecord {
    WallTime time{};
    std::string line;
};
[[nodiscard]] std::vector<GapRecord> read_gap_records(const fs::path& results);
// Errors: usage, for what cannot be read or names a gap that is not in the log.
[[nodiscard]] Expected<void> apply(const GapRecord& record, store::GapLog& log);

}  // namespace compat::archive
