#include "runner/archive/rebuild.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "runner/archive/attempt_files.h"
#include "runner/archive/gap_log.h"
#include "runner/archive/gap_record.h"
#include "runner/archive/imported/imported_files.h"
#include "runner/archive/results.h"
#include "runner/archive/run_folder.h"
#include "runner/archive/run_record.h"
#include "runner/archive/shards.h"
#include "runner/archive/temp_output.h"
#include "runner/base/files.h"
#include "runner/base/text.h"
#include "runner/store/gaps.h"

namespace compat::archive {

using store::Store;

namespace {

struct RunStart {
    std::string id;
    WallTime begun{};
};

class Rebuilder {
  public:
    Rebuilder(fs::path results, fs::path fresh_file, Store fresh, std::optional<Store> old)
        : results_(std::move(results)),
          fresh_file_(std::move(fresh_file)),
          fresh_(std::move(fresh)),
          old_(std::move(old)) {}

    Expected<void> run() {
        for (const RunStart& known : known_runs()) TRY(add(known.id));
        TRY(replay_gaps());
        return copy_old_gaps().and_then([&] { return fresh_.settle(); });
    }

    [[nodiscard]] RebuildResult result() const {
        return {from_folders_, from_old_, gaps_from_old_, {}, lost_};
    }

  private:
    [[nodiscard]] fs::path folder_of(const std::string& id) const { return results_ / "runs" / id; }

    [[nodiscard]] Expected<RunRecord> record_of(const std::string& id) const {
        std::error_code error;
        if (!fs::is_directory(folder_of(id), error))
            return fail(ErrorKind::usage, "its folder is gone");
        auto record = read_record(folder_of(id));
        if (record && record->info.id != id)
            return fail(ErrorKind::usage, "its record belongs to " + record->info.id);
        return record;
    }

    [[nodiscard]] std::optional<store::StoredRun> in_old(const std::string& id) const {
        if (!old_) return std::nullopt;
        auto run = old_->load_run(id);
        return run ? std::optional(std::move(*run)) : std::nullopt;
    }

    // In the order in which they began: of two runs the later one is that which was stored later.
    std::vector<RunStart> known_runs() {
        std::set<std::string> ids;
        std::error_code error;
        for (const auto& entry : fs::directory_iterator(results_ / "runs", error))
            if (entry.is_directory(error)) ids.insert(entry.path().filename().string());
        if (const auto stored = old_ ? old_->runs() : Expected<std::vector<store::RunSummary>>())
            for (const auto& run : *stored) ids.insert(run.id);
        std::vector<RunStart> runs;
        for (const auto& id : ids) {
            const auto record = record_of(id);
            const auto run = in_old(id);
            if (record && !record->info.shard.empty() && !run) continue;  // no database holds it
            runs.push_back({id, record ? record->begun : run ? run->info.started : WallTime{}});
        }
        std::sort(runs.begin(), runs.end(), [](const RunStart& a, const RunStart& b) {
            return std::tie(a.begun, a.id) < std::tie(b.begun, b.id);
        });
        return runs;
    }

    // From its folder if that is complete, else from the old database if possible. Only errors that
    // would stop every other run too are returned.
    Expected<void> add(const std::string& id) {
        const auto record = record_of(id);
        const auto add_record = [&]() -> Expected<void> {
            if (!record) return tl::unexpected(record.error());
            return add_from_folder(*record);
        };
        const bool folder_first = record && is_whole(*record);
        const auto first = folder_first ? add_record() : add_from_old(id);
        if (first || stops(first.error())) return first;
        const auto second = folder_first ? add_from_old(id) : add_record();
        if (second || stops(second.error())) return second;
        lost_.push_back(fmt::format("{}: {}, and no database that can be read holds it whole", id,
                                    (folder_first ? first : second).error().message));
        return {};
    }

    // A full disk, a lock.
    [[nodiscard]] bool stops(const Error& error) const {
        return error.where == fresh_file_.string() && !Store::is_refusal(error);
    }

    Expected<void> add_from_old(const std::string& id) {
        if (!old_) return fail(ErrorKind::database, "there is no old database");
        const auto run = TRY(old_->load_run(id));
        TRY(fresh_.add_run(
            run, [&](const store::ModuleVisitor& see) { return old_->each_module(id, see); }));
        ++from_old_;
        if (run.end) ends_.emplace_back(run.end->finished, id);
        return {};
    }

    // The folder lacks no file, and nothing that the old database has.
    [[nodiscard]] bool is_whole(const RunRecord& record) const {
        const auto imported = described_files(record.info.fingerprint, folder_of(record.info.id));
        if (!imported || record.unreadable > 0 || !has_all_files(record, *imported)) return false;
        const auto run = in_old(record.info.id);
        if (!run) return true;
        if (run->end && !record.end) return false;
        if (!imported->empty()) return true;  // their files tell the modules
        const auto extent = old_->extent_of(record.info.id);
        std::int64_t attempts = 0;
        for (const auto& [path, jobs] : record.attempts)
            attempts += static_cast<std::int64_t>(jobs.size());
        return !extent || (attempts >= extent->attempts &&
                           static_cast<std::int64_t>(record.modules.size()) >= extent->modules);
    }

    [[nodiscard]] bool has_all_files(const RunRecord& record,
                                     const std::vector<ImportedFile>& imported) const {
        const fs::path folder = folder_of(record.info.id);
        const auto there = [&](const std::string& name) { return has_files(folder, {name}); };
        for (const auto& file : imported)
            if (!there(file.log)) return false;
        return std::all_of(record.attempts.begin(), record.attempts.end(), [&](const auto& module) {
            return std::all_of(module.second.begin(), module.second.end(), [&](const auto& job) {
                const bool log = there(job.log) ||
                                 (job.ended && job.ended->kind == ProcessEnd::Kind::spawn_failed);
                return job.ended && log && there(job.events) && there(job.devices) &&
                       there(job.hub);
            });
        });
    }

    Expected<void> add_from_folder(const RunRecord& record) {
        const std::string& id = record.info.id;
        const auto imported = TRY(described_files(record.info.fingerprint, folder_of(id)));
        std::vector<std::string> lost;
        const auto note_gone = [&](const store::JobResult& job) -> Expected<void> {
            lost.push_back(fmt::format("{}: attempt {} at {} and what followed: its files are gone",
                                       id, job.attempt, job.record.path));
            return {};
        };
        TRY(fresh_.add_run(
            {record.info, record.end, 0}, [&](const store::ModuleVisitor& see) -> Expected<void> {
                if (imported.empty())
                    return each_recorded_module(record, folder_of(id), note_gone, see);
                return read_imported_modules(imported, record.info.started, see)
                    .map([](const ImportSums&) {});
            }));
        ++from_folders_;
        if (record.unreadable > 0)
            lost.push_back(fmt::format("{}: {} of its record.jsonl cannot be read", id,
                                       counted(record.unreadable, "line")));
        lost_.insert(lost_.end(), lost.begin(), lost.end());
        for (const WallTime time : record.ends) ends_.emplace_back(time, id);
        return {};
    }

    // In their order: ends of runs, scans, and fields that users set.
    Expected<void> replay_gaps() {
        const auto records = read_gap_records(results_);
        std::stable_sort(ends_.begin(), ends_.end());
        store::GapLog log(fresh_);
        auto end = ends_.cbegin();
        const auto runs_until = [&](std::optional<WallTime> time) {
            for (; end != ends_.cend() && (!time || end->first <= *time); ++end)
                if (auto logged = log_gaps(fresh_, end->second); !logged)
                    lost_.push_back(
                        fmt::format("{}: its gaps: {}", end->second, to_line(logged.error())));
        };
        for (const GapRecord& record : records) {
            runs_until(record.time);
            if (auto applied = apply(record, log); !applied) unapplied_.push_back(record);
        }
        runs_until(std::nullopt);
        return {};
    }

    Expected<void> copy_old_gaps() {
        store::GapLog log(fresh_);
        if (old_) {
            auto taken = TRY(log.add_missing_from(store::GapLog(*old_)));
            gaps_from_old_ = taken.entries;
            if (taken.read_error)
                lost_.push_back("the gap log: the rest of what the old database held: " +
                                taken.read_error->message);
        }
        for (const GapRecord& record : unapplied_)
            if (auto applied = apply(record, log); !applied)
                lost_.push_back("the gap log: " + to_line(applied.error()));
        return {};
    }

    fs::path results_;
    fs::path fresh_file_;
    Store fresh_;
    std::optional<Store> old_;
    std::vector<std::pair<WallTime, std::string>> ends_;
    std::vector<GapRecord> unapplied_;  // of a gap that the old database may know
    std::vector<std::string> lost_;
    long from_folders_ = 0, from_old_ = 0, gaps_from_old_ = 0;
};

constexpr std::array kParts{"-wal", "-shm", ""};  // of a database, its own file last

// Renames the database's files: a new database must find none of the old one's. Returns whether
// there were any.
Expected<bool> move_aside(const fs::path& database, const fs::path& to) {
    std::error_code error;
    bool any = false;
    for (const char* part : kParts)
        if (const fs::path from = database.string() + part; fs::exists(from, error)) {
            any = true;
            fs::rename(from, to.string() + part, error);
            if (error)
                return fail(ErrorKind::io, "cannot be moved aside: " + error.message(), {},
                            from.string());
        }
    return any;
}

// Opens the database as far as it can be read. For an older version, migrates a copy in `room`.
Expected<std::optional<Store>> open_old(const fs::path& database, const fs::path& room) {
    std::error_code error;
    if (fs::file_size(database, error) == 0 || error) return std::nullopt;
    if (auto store = Store::open(database, Store::Mode::read_only)) return std::move(*store);
    const fs::path copy = room / "old.db";
    for (const char* part : {"-wal", ""})
        if (const fs::path from = database.string() + part; fs::exists(from, error)) {
            fs::copy_file(from, copy.string() + part, error);
            if (error)
                return fail(ErrorKind::io, "cannot be copied: " + error.message(), {},
                            from.string());
        }
    if (auto store = Store::open(copy)) return std::move(*store);
    return std::nullopt;
}

// "runner.db.old-<UTC>", numbered where there is one of this second.
fs::path name_aside(const fs::path& database) {
    const std::string usual = database.string() + ".old-" + file_timestamp(SystemClock().wall());
    std::string name = usual;
    std::error_code error;
    const auto is_taken = [&](const char* part) { return fs::exists(name + part, error); };
    for (int i = 2; std::any_of(kParts.begin(), kParts.end(), is_taken); ++i)
        name = fmt::format("{}-{}", usual, i);
    return name;
}

}  // namespace

Expected<RebuildResult> rebuild(const fs::path& results, std::function<void(bool)> on_interrupt) {
    const fs::path database = results / "runner.db", room = results / "rebuilding";
    std::error_code error;
    if (!fs::is_directory(results / "runs", error))
        return fail(ErrorKind::usage, "no run folders here",
                    "name the results folder with --results", results.string());
    if (const auto existing = existing_results(results);
        !existing && existing.error().kind == ErrorKind::usage &&
        !shard_folders(results).shards.empty())
        return tl::unexpected(existing.error());
    const auto lock = TRY(ResultsLock::acquire_exclusive(results));
    fs::remove_all(room, error);  // of one that was killed
    TempOutput made(room, std::move(on_interrupt));
    TRY(make_directories(room));

    RebuildResult rebuilt;
    {
        auto fresh = TRY(Store::open(room / "runner.db"));
        auto old = TRY(open_old(database, room));
        Rebuilder rebuilding(results, room / "runner.db", std::move(fresh), std::move(old));
        TRY(rebuilding.run());
        rebuilt = rebuilding.result();
    }
    made.hold();
    const fs::path aside = name_aside(database);
    const auto moved = TRY(move_aside(database, aside));
    if (moved) rebuilt.old_database = aside;
    fs::rename(room / "runner.db", database, error);
    if (error)
        return fail(ErrorKind::io, "cannot replace the database: " + error.message(), {},
                    (room / "runner.db").string());
    fs::remove_all(room, error);
    made.keep(room);
    return rebuilt;
}

}  // namespace compat::archive
