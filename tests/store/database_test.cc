// Files, faults and concurrent writers of the database.
#include "runner/store/database.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <functional>

#include "runner/base/files.h"
#include "runner/store/gaps.h"
#include "runner/store/migrations.h"
#include "runner/store/store_impl.h"
#include "tests/store/expect_job.h"
#include "tests/store/samples.h"
#include "tests/support/temp_tree.h"

namespace compat::store {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class FileTest : public testing::Test {
  protected:
    void write(const std::string& bytes) { std::ofstream(file, std::ios::binary) << bytes; }

    test::TempTree folder;
    fs::path file = folder.root() / "runner.db";
};

constexpr int kJobs = 40;

// Writes a run of kJobs modules, as one runner does. True: no error.
bool write_a_run(const fs::path& file, const std::string& id) {
    auto store = Store::open(file);
    if (!store || !store->begin_run(samples::run(id, 1))) return false;
    for (int i = 0; i < kJobs; ++i)
        if (!store->save_job(id, samples::job("m" + std::to_string(i) + ".py"))) return false;
    return store->finish_run(id, samples::end(2)).has_value();
}

TEST_F(FileTest, SeveralRunnersCreateAndWriteTheDatabaseAtOnce) {
    constexpr int kRunners = 3;
    std::vector<pid_t> children;
    for (int i = 0; i < kRunners; ++i) {
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) ::_exit(write_a_run(file, "run" + std::to_string(i)) ? 0 : 1);
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
    const auto store = Store::open(file, Store::Mode::read_only);
    ASSERT_TRUE(store) << to_line(store.error());
    const auto runs = store->runs();
    ASSERT_EQ(runs->size(), size_t{kRunners});
    for (const RunSummary& run : *runs) {
        EXPECT_EQ(run.modules, kJobs);
        for (const auto count : run.states) EXPECT_EQ(count, kJobs);
    }
}

TEST_F(FileTest, AKilledWriterLosesNoSavedJob) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        auto store = Store::open(file);
        if (!store || !store->begin_run(samples::run("r", 1)) ||
            !store->save_job("r", samples::job("a.py")))
            ::_exit(1);
        Transaction unfinished(store->impl().database);
        store->impl().database.execute("DELETE FROM result");
        if (::write(ready[1], "x", 1) != 1) ::_exit(1);
        ::pause();
    }
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    const auto store = Store::open(file);
    ASSERT_TRUE(store) << to_line(store.error());
    const auto run = store->load_run("r");
    ASSERT_TRUE(run);
    EXPECT_FALSE(run->end);
    expect_same(samples::modules_of(*store, "r").at(0).attempts, {samples::job("a.py")});
}

TEST_F(FileTest, AFullDiskLosesOnlyTheCurrentJob) {
    auto store = Store::open(file);
    ASSERT_TRUE(store);
    ASSERT_TRUE(store->begin_run(samples::run("r", 1)));
    ASSERT_TRUE(store->save_job("r", samples::job("a.py")));
    // Fails each step of the transaction in turn.
    int failures = 0;
    for (int at = 0;; ++at) {
        int step = 0;
        store->impl().database.set_step_hook(
            [&] { return step++ == at ? SQLITE_FULL : SQLITE_OK; });
        const auto saved = store->save_job("r", samples::job("b.py"));
        store->impl().database.set_step_hook({});
        if (saved) break;
        ++failures;
        ASSERT_EQ(saved.error().kind, ErrorKind::io);
        ASSERT_THAT(to_line(saved.error()), HasSubstr("the disk is full"));
        const auto modules = samples::modules_of(*store, "r");
        ASSERT_EQ(modules.size(), 1u) << "half a job after a fault at step " << at;
        expect_same(modules[0].attempts, {samples::job("a.py")});
    }
    EXPECT_GT(failures, 50);
    EXPECT_EQ(samples::modules_of(*store, "r").size(), 2u);
}

TEST_F(FileTest, NamesTheLimitOfAFilesSize) {
    auto store = Store::open(file);
    ASSERT_TRUE(store);
    ASSERT_TRUE(store->begin_run(samples::run("r", 1)));
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{4096, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const auto saved = store->save_job("r", samples::job("a.py"));
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, ignored);
    ASSERT_FALSE(saved);
    EXPECT_THAT(to_line(saved.error()), HasSubstr("raise the limit of 4096 bytes for a file (ulimit -f)"));
}

TEST_F(FileTest, ReportsAFullDatabaseAsAFullDisk) {
    auto store = Store::open(file);
    ASSERT_TRUE(store);
    ASSERT_TRUE(store->begin_run(samples::run("r", 1)));
    store->impl().database.execute("PRAGMA max_page_count = 1");  // SQLite takes the present size
    JobResult job = samples::job("a.py");
    job.record.cases[1].failure->traceback = std::string(1 << 20, 'x');
    const auto saved = store->save_job("r", job);
    ASSERT_FALSE(saved);
    EXPECT_EQ(saved.error().kind, ErrorKind::io);
    EXPECT_TRUE(samples::modules_of(*store, "r").empty());
}

TEST_F(FileTest, ReportsALockThatIsHeldTooLongWithAdvice) {
    auto held = Store::open(file);
    ASSERT_TRUE(held);
    const Transaction lock(held->impl().database);
    auto other = Database::open(file, Database::Mode::read_write, std::chrono::milliseconds{20});
    try {
        Transaction transaction(other);
        FAIL() << "two writers at once";
    } catch (const SqlError& error) {
        const Error told = to_error(error, file);
        EXPECT_EQ(told.kind, ErrorKind::busy);
        EXPECT_THAT(to_line(told), HasSubstr("locked by another process"));
    }
}

TEST_F(FileTest, RefusesDamagedDatabasesWithAdvice) {
    const auto expect_refusal = [&] {
        const auto store = Store::open(file);
        ASSERT_FALSE(store);
        EXPECT_EQ(store.error().kind, ErrorKind::database);
        EXPECT_THAT(to_line(store.error()), HasSubstr("the database is damaged"));
        EXPECT_THAT(to_line(store.error()),
                    HasSubstr("runner reparse --all --results " + file.parent_path().string()));
        EXPECT_THAT(to_line(store.error()), HasSubstr(file.string()));
    };
    write(std::string(8192, 'x'));
    expect_refusal();
    fs::remove(file);
    ASSERT_TRUE(write_a_run(file, "r"));
    fs::resize_file(file, fs::file_size(file) / 2);
    expect_refusal();
}

TEST_F(FileTest, ReportsADamagedPageWhenItIsRead) {
    ASSERT_TRUE(write_a_run(file, "r"));
    std::int64_t page = 0;
    {
        auto database =
            Database::open(file, Database::Mode::read_only, std::chrono::milliseconds{0});
        auto row = database.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'result'");
        ASSERT_TRUE(row.step());
        page = row.integer(0);
    }
    {
        std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
        bytes.seekp((page - 1) * 4096);
        bytes << std::string(4096, '\xff');
    }
    const auto store = Store::open(file);
    ASSERT_TRUE(store) << to_line(store.error());
    const auto read =
        store->each_module("r", [](const StoredModule&) -> Expected<void> { return {}; });
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().kind, ErrorKind::database);
    EXPECT_THAT(to_line(read.error()), HasSubstr("damaged"));
}

TEST_F(FileTest, ReportsDamageWithTableRowAndAdvice) {
    const auto read = [&]() -> Expected<void> {
        auto store = Store::open(file, Store::Mode::read_only);
        if (!store) return tl::unexpected(store.error());
        const auto run = store->load_run("r");
        if (!run) return tl::unexpected(run.error());
        const auto gaps = GapLog(*store).gaps();
        if (!gaps) return tl::unexpected(gaps.error());
        return store->each_module("r", [](const StoredModule&) -> Expected<void> { return {}; });
    };
    const std::pair<const char*, const char*> table[] = {
        {"UPDATE run SET env = '{}'", "run.env of row 1"},
        {"UPDATE run SET argv = '[1]'", "run.argv of row 1"},
        {"UPDATE attempt SET only_ids = 'x' WHERE id = 7", "attempt.only_ids of row 7"},
        {"UPDATE attempt SET kind = 'x' WHERE id = 7", "attempt.kind of row 7"},
        {"UPDATE attempt SET closing = '{}' WHERE id = 7", "attempt.closing of row 7"},
        {"UPDATE attempt SET shim = '[]' WHERE id = 7", "attempt.shim of row 7"},
        {"UPDATE attempt SET ended = '{\"kind\": \"x\"}' WHERE id = 7", "attempt.ended of row 7"},
        {"UPDATE text SET content = '[[1]]' WHERE content LIKE '[[%'", "failure.frames of row 1"},
        {"UPDATE leaked_process SET argv = '1'", "leaked_process.argv of row 1"},
        {"INSERT INTO gap (symbol, kind, device, simulated, equivalent, description, severity, "
         "action, by_hand, first_seen, first_torch, last_seen, last_torch) VALUES ('s', "
         "'missing_symbol', 'mps', 0, '', '', 'minor', '', '1', '', '', '', '')",
         "gap.by_hand of row 1"},
        {"DROP TABLE kernel_count", "no such table"},
    };
    for (const auto& [damage, told] : table) {
        fs::remove(file);
        ASSERT_TRUE(write_a_run(file, "r"));
        ASSERT_TRUE(read()) << to_line(read().error());
        {
            auto database =
                Database::open(file, Database::Mode::read_write, std::chrono::milliseconds{0});
            database.execute("PRAGMA foreign_keys = OFF");
            database.execute(damage);
        }
        const auto found = read();
        ASSERT_FALSE(found) << damage;
        EXPECT_EQ(found.error().kind, ErrorKind::database);
        EXPECT_THAT(to_line(found.error()), HasSubstr("the database is damaged"));
        EXPECT_THAT(to_line(found.error()), HasSubstr(told)) << damage;
        EXPECT_THAT(to_line(found.error()), HasSubstr(file.string()));
        EXPECT_THAT(to_line(found.error()), HasSubstr("runner reparse --all"));
    }
}

// Root may write everywhere, so another user reads.
int as_reader(const std::function<bool()>& body) {
    const pid_t child = ::fork();
    if (child == 0) {
        const bool is_reader = ::geteuid() != 0 || ::setuid(65534) == 0;
        ::_exit(is_reader && body() ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return status;
}

TEST_F(FileTest, ReadsADatabaseInAReadOnlyFolder) {
    const fs::path odd = folder.root() / "50% of? #1";
    fs::create_directory(odd);
    file = odd / "runner.db";
    ASSERT_TRUE(write_a_run(file, "r"));
    ASSERT_FALSE(fs::exists(file.string() + "-wal"));
    fs::permissions(folder.root(), fs::perms(0755));
    fs::permissions(odd, fs::perms(0555));
    EXPECT_EQ(as_reader([&] {
                  const auto store = Store::open(file, Store::Mode::read_only);
                  if (!store) std::fprintf(stderr, "%s\n", to_line(store.error()).c_str());
                  return store && store->runs() && store->runs()->size() == 1 &&
                         store->load_run("r") && !Store::open(file);
              }),
              0);
    // Changes that only the -wal file holds must not be missing.
    fs::permissions(odd, fs::perms(0755));
    std::ofstream(file.string() + "-wal", std::ios::binary) << "not empty";
    fs::permissions(odd, fs::perms(0555));
    EXPECT_EQ(as_reader([&] {
                  const auto store = Store::open(file, Store::Mode::read_only);
                  return !store &&
                         to_line(store.error()).find("runner.db-wal") != std::string::npos;
              }),
              0);
    fs::permissions(odd, fs::perms(0755));
}

TEST_F(FileTest, RefusesForeignAndNewerDatabases) {
    {
        auto database =
            Database::open(file, Database::Mode::read_write, std::chrono::milliseconds{0});
        database.execute("CREATE TABLE theirs (x)");
    }
    const auto foreign = Store::open(file);
    ASSERT_FALSE(foreign);
    EXPECT_THAT(foreign.error().message, HasSubstr("not a database of this program"));
    fs::remove(file);

    ASSERT_TRUE(write_a_run(file, "r"));
    Database::open(file, Database::Mode::read_write, std::chrono::milliseconds{0})
        .execute("PRAGMA user_version = 99");
    for (const auto mode : {Store::Mode::read_write, Store::Mode::read_only}) {
        const auto newer = Store::open(file, mode);
        ASSERT_FALSE(newer);
        EXPECT_EQ(newer.error().kind, ErrorKind::database);
        EXPECT_THAT(newer.error().message, HasSubstr("version 99"));
    }
}

TEST_F(FileTest, ReportsAMissingFolderAsIoError) {
    for (const auto mode : {Store::Mode::read_write, Store::Mode::read_only}) {
        const auto store = Store::open(folder.root() / "none/runner.db", mode);
        ASSERT_FALSE(store);
        EXPECT_EQ(store.error().kind, ErrorKind::io);
    }
    EXPECT_FALSE(fs::exists(folder.root() / "none"));
}

TEST_F(FileTest, ReadOnlyWritesNothing) {
    ASSERT_TRUE(write_a_run(file, "r"));
    auto store = Store::open(file, Store::Mode::read_only);
    ASSERT_TRUE(store);
    const auto refused = store->begin_run(samples::run("s", 1));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::io);
    EXPECT_EQ(store->runs()->size(), 1u);
}

TEST_F(FileTest, ConfiguresTheConnection) {
    auto store = Store::open(file);
    ASSERT_TRUE(store);
    const auto pragma = [&](const char* name) {
        auto statement = store->impl().database.prepare(std::string("PRAGMA ") + name);
        statement.step();
        return statement.text(0);
    };
    EXPECT_EQ(pragma("journal_mode"), "wal");
    EXPECT_EQ(pragma("synchronous"), "1");
    EXPECT_EQ(pragma("foreign_keys"), "1");
    ASSERT_TRUE(store->begin_run(samples::run("r", 1)));
    ASSERT_TRUE(store->finish_run("r", samples::end(2)));
    EXPECT_EQ(pragma("synchronous"), "1");
}

TEST(Migrations, CountUpWithoutAGap) {
    int version = 17;
    for (const Migration& step : migrations()) EXPECT_EQ(step.version, ++version);
}

TEST_F(FileTest, RefusesADatabaseBeforeTheFirstVersion) {
    auto database = Database::open(file, Database::Mode::read_write, std::chrono::milliseconds{0});
    ASSERT_TRUE(migrate(database, migrations()));
    database.execute("PRAGMA user_version = 17");
    for (const auto mode : {Store::Mode::read_only, Store::Mode::read_write}) {
        const auto refused = Store::open(file, mode);
        ASSERT_FALSE(refused);
        EXPECT_THAT(refused.error().message, HasSubstr("version 17, older than the 18"));
        EXPECT_THAT(refused.error().advice, HasSubstr("runner reparse --all"));
    }
}

TEST(Migrations, MigrateFromEveryVersionToTheLast) {
    constexpr Migration kSteps[] = {{1, "CREATE TABLE a (x); INSERT INTO a VALUES (1);"},
                                    {2, "ALTER TABLE a ADD y; UPDATE a SET y = x + 1;"},
                                    {3, "UPDATE a SET y = y * 10;"}};
    for (size_t from = 0; from <= std::size(kSteps); ++from) {
        Database database = Database::temporary();
        if (from > 0) {
            ASSERT_TRUE(migrate(database, std::span(kSteps).first(from)));
        }
        ASSERT_TRUE(migrate(database, kSteps)) << from;
        Statement row = database.prepare("SELECT y FROM a");
        ASSERT_TRUE(row.step());
        EXPECT_EQ(row.integer(0), 20) << from;
        EXPECT_TRUE(check_version(database, kSteps));
    }
}

// A run in a database that has the first `steps` steps.
void write_an_old_run(const fs::path& file, size_t steps) {
    auto database = Database::open(file, Database::Mode::read_write, std::chrono::milliseconds{0});
    ASSERT_TRUE(migrate(database, migrations().first(steps)));
    database.execute(R"sql(
        INSERT INTO suite VALUES (1, 'alpha');
        INSERT INTO run (id, name, suite, series, started_ms, framework, shim, policy, masquerade,
            device, simulated, fallback, commit_id, dirty, remote, torch, root, links_base, python,
            env, argv, rerun_argv, fingerprint, folder, folder_format, finished_ms, duration_s,
            complete, exit_code, accounting_closed, not_run_reason)
        VALUES (1, 'old', 1, 'nightly', 1000, 'unittest', 1, 'missing', 0, 'cpu', NULL, 1, 'abc',
            0, '', '2.12.0', '/src', '', '/bin/python', '[]', '["runner"]', '["runner"]', '{}',
            'runs/old', 1, 2000, 1.0, 1, 1, 1, '');
        INSERT INTO module (id, run, suite, path, position) VALUES (1, 1, 1, 'a.py', 0);
        INSERT INTO attempt (id, module, number, outcome, reason, framework, framework_version,
            python_version, collected, started_ms, duration_s, user_s, system_s, max_rss_bytes, log,
            events, devices, process_end, dropped_log_bytes, finished, from_text, shim, closing)
        VALUES (1, 1, 1, 'completed', '', 'unittest', '3.11', '3.11', 1, 1000, 0.5, 0.25, 0.125,
            4096, 'a.log', '', '', 'exited 1', 0, 1, 0, NULL, NULL);
        INSERT INTO test VALUES (1, 1, 'a.py::T::t', 'a.T.t');
        INSERT INTO result (id, run, attempt, test, verdict, state, phase, reason, duration_s, file,
            line, started, call_state, pseudo)
        VALUES (1, 1, 1, 1, 1, 'failed', 'call', '', 0.25, NULL, 0, 1, NULL, 0);
    )sql");
    for (const std::string text : {"too old", "Traceback", R"([["/src/a.py", 3, "t"]])"})
        database.execute(fmt::format("INSERT INTO text (hash, content) VALUES ({}, '{}')",
                                     text_hash(text), text));
    database.execute(
        "INSERT INTO failure (id, result, subtest, also, type, message, key_line, phase, counted, "
        "traceback, frames, signature) VALUES (1, 1, NULL, 0, 'ValueError', 1, 'too old', 'call', "
        "'failed', 2, 3, 'sig')");
}

TEST_F(FileTest, ReadsRunsOfOlderVersionsUnchanged) {
    for (size_t steps = 1; steps < migrations().size(); ++steps) {
        fs::remove(file);
        write_an_old_run(file, steps);
        ASSERT_FALSE(Store::open(file, Store::Mode::read_only)) << steps;
        auto store = Store::open(file);
        ASSERT_TRUE(store) << to_line(store.error());
        const auto run = store->load_run("old");
        ASSERT_TRUE(run) << to_line(run.error());
        EXPECT_EQ(run->info.torch, "2.12.0");
        EXPECT_EQ(run->info.expectations, "");
        const auto modules = samples::modules_of(*store, "old");
        ASSERT_EQ(modules.size(), 1u);
        ASSERT_EQ(modules[0].attempts.size(), 1u);
        const JobResult& job = modules[0].attempts[0];
        EXPECT_EQ(job.kind, AttemptKind::whole);
        EXPECT_TRUE(job.record.ready);
        EXPECT_FALSE(job.ended);
        ASSERT_EQ(job.record.cases.size(), 1u);
        EXPECT_EQ(job.record.cases[0].id, "a.py::T::t");
        ASSERT_TRUE(job.record.cases[0].failure);
        EXPECT_EQ(job.record.cases[0].failure->message, "too old");
        ASSERT_EQ(job.record.cases[0].failure->frames.size(), 1u);
        const auto runs = store->runs();
        ASSERT_TRUE(runs) << to_line(runs.error());
        EXPECT_EQ(runs->at(0).modules, 1);
        EXPECT_EQ(store->past_of("alpha")->seconds.at("a.py"), 0.5);
        EXPECT_TRUE(store->begin_run(samples::run("new", 3)));
        EXPECT_TRUE(store->save_job("new", samples::job("a.py")));
        auto view = store->impl().database.prepare(
            "SELECT message FROM v_failure WHERE run = 'old' AND cause IS NULL");
        ASSERT_TRUE(view.step());
        EXPECT_EQ(view.text(0), "too old");
    }
}

TEST_F(FileTest, AFullDiskLeavesNoHalfOfANewDatabase) {
    for (int room = 0;; ++room) {
        fs::remove(file);
        int left = room;
        try {
            auto database =
                Database::open(file, Database::Mode::read_write, std::chrono::milliseconds{0});
            database.set_step_hook([&] { return left-- > 0 ? SQLITE_OK : SQLITE_FULL; });
            ASSERT_TRUE(migrate(database, migrations()));
            EXPECT_GT(room, 10);
            return;
        } catch (const SqlError& error) {
            ASSERT_EQ(error.code(), SQLITE_FULL);
        }
        const auto opened = Store::open(file, Store::Mode::read_only);
        ASSERT_FALSE(opened);
        ASSERT_THAT(opened.error().message, HasSubstr("its database is empty")) << room;
    }
}

TEST(Migrations, AFailedStepKeepsThePreviousVersion) {
    constexpr Migration kSteps[] = {{1, "CREATE TABLE a (x);"},
                                    {2, "CREATE TABLE b (x); CREATE TABLE a (x);"}};
    Database database = Database::temporary();
    ASSERT_TRUE(migrate(database, std::span(kSteps).first(1)));
    EXPECT_THROW(static_cast<void>(migrate(database, kSteps)), SqlError);
    EXPECT_TRUE(check_version(database, std::span(kSteps).first(1)));
    EXPECT_FALSE(check_version(database, kSteps));
    Statement row = database.prepare("SELECT count(*) FROM sqlite_schema WHERE name = 'b'");
    row.step();
    EXPECT_EQ(row.integer(0), 0);
}

}  // namespace
}  // namespace compat::store
