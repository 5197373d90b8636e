#include "runner/store/store.h"

#include <fmt/format.h>

#include <chrono>

#include "runner/store/edge.h"
#include "runner/store/migrations.h"
#include "runner/store/queries.h"
#include "runner/store/reader.h"
#include "runner/store/store_impl.h"
#include "runner/store/writer.h"

namespace compat::store {

namespace {

// In WAL this syncs the log at the commit, and with it every earlier commit.
template <class Function>
Expected<void> synced(Database& database, Function function) {
    return guarded(database.file(), [&]() -> Expected<void> {
        database.execute("PRAGMA synchronous = FULL");
        auto done = function();
        database.execute("PRAGMA synchronous = NORMAL");
        return done;
    });
}

Expected<void> write_new_run(Database& database, const RunInfo& info) {
    if (run_row(database, info.id))
        return fail(ErrorKind::database, fmt::format("there is a run '{}' already", info.id), {},
                    database.file().string());
    write_run(database, info);
    return {};
}

// An error of this database must not look like one of the store that is read.
Expected<void> add_modules(Database& database, std::int64_t run, const ReadModules& read_modules) {
    return read_modules([&](const StoredModule& module) {
        return guarded(database.file(), [&]() -> Expected<void> {
            write_plan(database, run, {module.path});
            if (module.attempts.empty() && !module.not_run_reason.empty())
                write_not_run_reason(database, run, module.path, module.not_run_reason);
            for (const JobResult& job : module.attempts) write_job(database, run, job);
            for (const JobResult& job : module.diagnostics) write_job(database, run, job);
            return {};
        });
    });
}

}  // namespace

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Expected<Store> Store::open(const fs::path& file, Mode mode) {
    return guarded(file, [&]() -> Expected<Store> {
        const bool writes = mode == Mode::read_write;
        auto impl = std::make_unique<Impl>(Impl{Database::open(
            file, writes ? Database::Mode::read_write : Database::Mode::read_only, kPatience)});
        TRY(writes ? migrate(impl->database, migrations())
                   : check_version(impl->database, migrations()));
        return Store(std::move(impl));
    });
}

Error Store::gone(const fs::path& file) {
    return {ErrorKind::database, "the database of the runs that are here is gone",
            how_to_rebuild(file), file.string()};
}

Expected<Store> Store::temporary() {
    return guarded("the temporary database", []() -> Expected<Store> {
        auto impl = std::make_unique<Impl>(Impl{Database::temporary()});
        TRY(migrate(impl->database, migrations()));
        return Store(std::move(impl));
    });
}

Expected<void> Store::begin_run(const RunInfo& info) {
    return write(impl_->database, [&] { return write_new_run(impl_->database, info); });
}

Expected<void> Store::plan_modules(std::string_view run, const std::vector<std::string>& paths) {
    return write_to(impl_->database, run,
                    [&](std::int64_t row) { write_plan(impl_->database, row, paths); });
}

Expected<void> Store::save_job(std::string_view run, const JobResult& job) {
    return write_to(impl_->database, run,
                    [&](std::int64_t row) { write_job(impl_->database, row, job); });
}

Expected<void> Store::finish_run(std::string_view run, const RunEnd& end) {
    Database& database = impl_->database;
    return synced(database, [&] {
        return write_to(database, run, [&](std::int64_t row) { write_end(database, row, end); });
    });
}

Expected<void> Store::add_run(const StoredRun& run, const ReadModules& read_modules) {
    Database& database = impl_->database;
    return synced(database, [&] {
        return write(database, [&]() -> Expected<void> {
            TRY(write_new_run(database, run.info));
            const auto row = TRY(run_row(database, run.info.id));
            if (run.end) write_end(database, row, *run.end);
            TRY(add_modules(database, row, read_modules));
            // Reading the modules may have changed them.
            write_framework(database, row, run.info.framework);
            if (run.end) write_end(database, row, *run.end);
            return {};
        });
    });
}

Expected<void> Store::replace_modules(std::string_view run, const ReadModules& read_modules,
                                      const std::function<RunEnd()>& end) {
    Database& database = impl_->database;
    return synced(database, [&] {
        return write(database, [&]() -> Expected<void> {
            const auto row = TRY(run_row(database, run));
            erase_modules(database, row);
            TRY(add_modules(database, row, read_modules));
            write_end(database, row, end());
            return {};
        });
    });
}

void Store::set_patience(std::chrono::milliseconds busy) { impl_->database.set_patience(busy); }

bool Store::is_refusal(const Error& error) { return error.message.starts_with(kRefused); }

// SQLite hides that its checkpoint at close failed.
Expected<void> Store::settle() {
    Database& database = impl_->database;
    return guarded(database.file(), [&]() -> Expected<void> {
        bool busy = false;
        {
            Statement checkpoint = database.prepare("PRAGMA wal_checkpoint(TRUNCATE)");
            busy = checkpoint.step() && checkpoint.integer() != 0;
        }
        std::error_code error;
        const fs::path wal = database.file().string() + "-wal";
        const bool is_left = fs::exists(wal, error) && fs::file_size(wal, error) > 0;
        if (!busy && !is_left && !error) return {};
        return fail(ErrorKind::database, "what was written is not all in the database's file",
                    "wait for other processes that use it to end", database.file().string());
    });
}

Expected<void> Store::delete_run(std::string_view run) {
    return write_to(impl_->database, run,
                    [&](std::int64_t row) { erase_run(impl_->database, row); });
}

Expected<void> Store::reopen_run(std::string_view run) {
    return write_to(impl_->database, run,
                    [&](std::int64_t row) { erase_end(impl_->database, row); });
}

Expected<std::vector<RunSummary>> Store::runs() const {
    return guarded(impl_->database.file(), [&] { return list_runs(impl_->database); });
}

Expected<std::string> Store::find_run(std::string_view name) const {
    return guarded(impl_->database.file(), [&] { return resolve_run(impl_->database, name); });
}

Expected<std::optional<Store::LaterRun>> Store::later_run(std::string_view series,
                                                          WallTime started) const {
    return guarded(impl_->database.file(),
                   [&] { return later_run_in(impl_->database, series, started); });
}

Expected<StoredRun> Store::load_run(std::string_view id) const {
    return reading(impl_->database, id, read_run);
}

Expected<Store::Extent> Store::extent_of(std::string_view run) const {
    return reading(impl_->database, run, extent_in);
}

Expected<void> Store::snapshot(const std::function<Expected<void>()>& read) const {
    return guarded(impl_->database.file(), [&]() -> Expected<void> {
        Transaction transaction(impl_->database, Transaction::Kind::read);
        return read();
    });
}

Expected<void> Store::each_module(std::string_view run, const ModuleVisitor& see,
                                  std::string_view only) const {
    return reading(impl_->database, run, [&](Database& database, std::int64_t row) {
        return read_modules(database, row, only, see);
    });
}

Expected<std::vector<Store::Verdict>> Store::verdicts(std::string_view run) const {
    return reading(impl_->database, run, verdicts_in);
}

Expected<std::vector<CaseSummary>> Store::cases(std::string_view run, const CaseFilter& filter,
                                                std::int64_t after, int limit) const {
    return reading(impl_->database, run, [&](Database& database, std::int64_t row) {
        return cases_of(database, row, filter, after, limit);
    });
}

Expected<std::vector<HistoryEntry>> Store::case_history(std::string_view test,
                                                        std::string_view suite) const {
    return guarded(impl_->database.file(),
                   [&] { return history_of(impl_->database, test, suite); });
}

Expected<std::vector<std::string>> Store::tests_containing(std::string_view part,
                                                           std::string_view run, int limit) const {
    return guarded(impl_->database.file(),
                   [&] { return tests_with(impl_->database, part, run, limit); });
}

Expected<std::optional<std::int64_t>> Store::last_known_cases(std::string_view suite,
                                                              std::string_view module) const {
    return guarded(impl_->database.file(), [&] {
        return read_last_known_cases(impl_->database, suite, module, std::nullopt);
    });
}

Expected<std::vector<RunInfo>> Store::other_ways_of(std::string_view run) const {
    return reading(impl_->database, run, [](Database& database, std::int64_t row) {
        std::vector<RunInfo> ways;
        for (const std::int64_t other : store::other_ways_of(database, row))
            ways.push_back(read_run(database, other).info);
        return ways;
    });
}

Expected<std::optional<TestVerdict>> Store::verdict_of(std::string_view run,
                                                       std::string_view test) const {
    return reading(impl_->database, run, [&](Database& database, std::int64_t row) {
        return verdict_in(database, row, test);
    });
}

Expected<SuitePast> Store::past_of(std::string_view suite) const {
    return guarded(impl_->database.file(), [&] { return store::past_of(impl_->database, suite); });
}

}  // namespace compat::store
