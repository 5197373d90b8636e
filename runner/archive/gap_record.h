// <results>/gaps.jsonl: what the gap log was told by scans and by hand, so that it can be built
// anew with the database (rebuild.cc). What runs met is read from the runs.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/store/gaps.h"

namespace compat::archive {

// Each tells the log of `store`, and the file in `results` before that.
[[nodiscard]] Expected<void> put_scan(const store::Store& store,
                                      const std::filesystem::path& results,
                                      const std::vector<GapFacts>& gaps, std::string_view device,
                                      std::string_view torch);
[[nodiscard]] Expected<void> set_gap(const store::Store& store,
                                     const std::filesystem::path& results, const GapKey& gap,
                                     std::string_view field, std::string_view value);

// What the file says, oldest first.
struct GapRecord {
    WallTime time{};
    std::string line;
};
[[nodiscard]] std::vector<GapRecord> read_gap_records(const std::filesystem::path& results);
// Errors: usage, for what cannot be read or names a gap that is not in the log.
[[nodiscard]] Expected<void> apply(const GapRecord& record, store::GapLog& log);

}  // namespace compat::archive
