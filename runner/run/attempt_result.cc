#include "runner/run/attempt_result.h"

#include <sstream>

#include "parsers/attempt.h"
#include "runner/archive/attempt_files.h"
#include "runner/archive/run_folder.h"
#include "runner/base/files.h"
#include "runner/run/fingerprint.h"

namespace compat::run {

parsers::ModuleRecord read_attempt(const fs::path& run_folder, const AttemptOrigin& origin,
                                   const std::string& module, int number, const ProcessEnd& end) {
    const archive::AttemptNames names =
        archive::stored_names(run_folder, module, number, AttemptKind::whole);
    parsers::AttemptFiles files =
        archive::files_of(run_folder, {names.log, names.events, names.devices, names.hub});
    files.isolation = origin.isolation;
    if (!origin.key.empty()) files.key = origin.key;
    return parsers::read_attempt(files, name_of(origin.framework), module, end);
}

namespace {

void keep_key(const FileBelow& file, const std::string& key, const parsers::ModuleRecord& record) {
    remove_file(file);
    // Without it `reparse` may take a forged line for a true one, which is no reason to fail here.
    if (parsers::needs_key(record)) static_cast<void>(write_file(file.path(), key));
}

}  // namespace

store::JobResult attempt_result(const fs::path& run_folder, const AttemptOrigin& origin,
                                const std::string& module, int number, AttemptKind kind,
                                const exec::JobFinished& finished) {
    store::JobResult result;
    result.ended = finished.end;
    result.record = read_attempt(run_folder, origin, module, number, finished.end);
    const fs::path log = archive::attempt_names(module, number, kind).log;
    keep_key({run_folder, archive::key_file(log)}, origin.key, result.record);
    result.record.forked = finished.forked;
    result.attempt = number;
    result.kind = kind;
    result.started = finished.started;
    static_cast<AttemptCost&>(result) = finished.cost;
    result.process_end = describe(finished.end);
    for (const auto& leaked : finished.leaked)
        result.leaked.push_back({leaked.pid, masked(leaked.argv), leaked.killed});
    return result;
}

std::optional<store::JobResult> attempt_left(const fs::path& run_folder,
                                             const AttemptOrigin& origin, const std::string& module,
                                             int number, const ProcessEnd& end) {
    store::JobResult result;
    result.attempt = number;
    const fs::path log = run_folder / archive::attempt_names(module, number, result.kind).log;
    std::error_code error;
    if (!fs::exists(log, error)) return std::nullopt;
    // Only plain whole attempts have no file that names their tests.
    for (const std::string_view word : kAttemptKindNames) {
        const AttemptKind kind = *attempt_kind_of(word);
        const fs::path name = archive::attempt_names(module, number, kind).only;
        if (!fs::exists(run_folder / name, error)) continue;
        result.kind = kind;
        if (kind == AttemptKind::whole) continue;
        std::istringstream ids(read_file(FileBelow(run_folder, name)).value_or(""));
        for (std::string id; std::getline(ids, id);) result.only.push_back(std::move(id));
    }
    result.ended = end;
    result.process_end = end.detail;
    result.record = read_attempt(run_folder, origin, module, number, end);
    result.started = std::chrono::time_point_cast<Milliseconds>(
        std::chrono::file_clock::to_sys(fs::last_write_time(log, error)));
    return result;
}

void set_file_names(const fs::path& run_folder, const std::string& module, store::JobResult& job) {
    const archive::AttemptNames names =
        archive::stored_names(run_folder, module, job.attempt, job.kind);
    std::error_code error;
    job.log = names.log;
    if (fs::exists(run_folder / names.events, error)) job.events = names.events;
    if (fs::exists(run_folder / names.devices, error)) job.devices = names.devices;
    if (fs::exists(run_folder / names.hub, error)) job.hub = names.hub;
}

}  // namespace compat::run
