// <run>/record.jsonl: the facts of a run that its other files lack, so that shards can be merged
// and the database rebuilt from folders. Not for the plan (run_folder.h) or the tests' results,
// which the attempts' own files hold.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "runner/store/store.h"

namespace compat::archive {

// Each appends a line before the database stores the same; the last line counts.
[[nodiscard]] Expected<void> record_run(const fs::path& folder, const store::RunInfo& info);
[[nodiscard]] Expected<void> record_plan(const fs::path& folder,
                                         const std::vector<std::string>& modules);
[[nodiscard]] Expected<void> record_attempt(const fs::path& folder, const store::JobResult& job);
// Why modules of a merged run never started, by their shard.
[[nodiscard]] Expected<void> record_not_run(const fs::path& folder, const std::string& reason,
                                            const std::vector<std::string>& modules);
// On the disk when it returns. `states`: of the run's tests, as its database counts them.
[[nodiscard]] Expected<void> record_end(const fs::path& folder, const store::RunEnd& end,
                                        const std::optional<store::StateCounts>& states = {});
[[nodiscard]] Expected<void> record_reopened(const fs::path& folder);

struct RunRecord {
    store::RunInfo info;
    std::vector<std::string> modules;  // planned, then those that were not
    // Oldest first, without what their files hold. Their tests are those that did not run: only the
    // run knows why.
    std::map<std::string, std::vector<store::JobResult>> attempts;  // by module
    std::map<std::string, std::string> not_run;  // module -> why, where the run's end does not say
    std::optional<store::RunEnd> end;
    std::optional<store::StateCounts> states;  // at that end; empty: an older runner's
    WallTime begun{};
    std::vector<WallTime> ends;  // of each sitting: a resumed run has several
    int unreadable = 0;          // lines
};
// Errors: usage, where there is no such file, none that says how the run began, or a newer format.
[[nodiscard]] Expected<RunRecord> read_record(const fs::path& folder);
[[nodiscard]] bool has_record(const fs::path& folder);
// Only how the run began. Errors: as read_record's.
[[nodiscard]] Expected<store::RunInfo> read_run_info(const fs::path& folder);
// Whether the record says how the run began. One that was cut off before it holds nothing.
[[nodiscard]] bool has_start(const fs::path& folder);
// The keys of a run in its record, as the plan of shards has them, too.
[[nodiscard]] nlohmann::ordered_json run_as_json(const store::RunInfo& info);
void run_from_json(const nlohmann::ordered_json& json, store::RunInfo& info);

// Called with the first attempt of a module whose files are gone. Its error ends the reading;
// without one the module keeps the attempts before it.
using OnGone = std::function<Expected<void>(const store::JobResult&)>;
// Each module of the record, with its attempts as their files are read by today's parsers. Holds
// one module at a time.
[[nodiscard]] Expected<void> each_recorded_module(const RunRecord& record, const fs::path& folder,
                                                  const OnGone& on_gone,
                                                  const store::ModuleVisitor& see);
// Stores the attempts that were recorded and that the store lacks: it was busy until the end.
[[nodiscard]] Expected<void> store_recorded(store::Store& store, const fs::path& folder);

}  // namespace compat::archive
