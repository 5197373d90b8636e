// <run>/record.jsonl: what the other files of a run do not tell of it, so that the database can be
// built anew from the runs' folders (rebuild.cc). Not for going on with a run (run_folder.h), nor
// for what its attempts' own files say, which are read again.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/store/store.h"

namespace compat::archive {

// Each appends what it says before the database takes it in; the later word counts.
[[nodiscard]] Expected<void> record_run(const std::filesystem::path& folder,
                                        const store::RunInfo& info);
[[nodiscard]] Expected<void> record_plan(const std::filesystem::path& folder,
                                         const std::vector<std::string>& modules);
[[nodiscard]] Expected<void> record_attempt(const std::filesystem::path& folder,
                                            const store::JobResult& job);
// On the disk when it returns.
[[nodiscard]] Expected<void> record_end(const std::filesystem::path& folder,
                                        const store::RunEnd& end);
[[nodiscard]] Expected<void> record_reopened(const std::filesystem::path& folder);

struct RunRecord {
    store::RunInfo info;
    std::vector<std::string> modules;  // planned, then those that were not
    // Oldest first, without what their files say; of their tests those that did not run, for why
    // they did not is known to the run alone.
    std::map<std::string, std::vector<store::JobResult>> attempts;  // by module
    std::optional<store::RunEnd> end;
    WallTime begun{};
    std::vector<WallTime> ends;  // when each sitting was over: there may be several
    int unreadable = 0;          // lines
};
// Errors: usage, where there is no such file, none that says how the run began, or a newer format.
[[nodiscard]] Expected<RunRecord> read_record(const std::filesystem::path& folder);
[[nodiscard]] bool has_record(const std::filesystem::path& folder);
// Only how the run began. Errors: as read_record's.
[[nodiscard]] Expected<store::RunInfo> read_run_info(const std::filesystem::path& folder);

// Called with the first attempt of a module whose files are gone. Its error ends the reading;
// without one the module keeps the attempts before it.
using OnGone = std::function<Expected<void>(const store::JobResult&)>;
// Each module of the record, with its attempts as their files are read by today's parsers. Holds
// one module at a time.
[[nodiscard]] Expected<void> each_recorded_module(const RunRecord& record,
                                                  const std::filesystem::path& folder,
                                                  const OnGone& on_gone,
                                                  const store::SeeModule& see);
// Stores the attempts that were recorded and that the store lacks: it was busy until the end.
[[nodiscard]] Expected<void> store_recorded(store::Store& store,
                                            const std::filesystem::path& folder);

}  // namespace compat::archive
