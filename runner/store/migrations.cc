#include "runner/store/migrations.h"

#include <fmt/format.h>

#include "migrations_sql.h"

namespace compat::store {

namespace {

// "rnr1": sets these files apart from other programs' SQLite databases.
constexpr std::int64_t kApplicationId = 0x726e7231;

std::int64_t pragma(Database& database, const char* name) {
    Statement statement = database.prepare(fmt::format("PRAGMA {}", name));
    return statement.step() ? statement.integer() : 0;
}

Expected<std::int64_t> known_version(Database& database, std::span<const Migration> steps) {
    const auto version = pragma(database, "user_version");
    const auto application = pragma(database, "application_id");
    Statement tables = database.prepare("SELECT count(*) FROM sqlite_schema");
    tables.step();
    const bool empty = version == 0 && tables.integer() == 0;
    if (!empty && application != kApplicationId)
        return fail(ErrorKind::database, "not a database of this program",
                    "name another folder with --results; where it was this program's, " +
                        how_to_rebuild(database.file()),
                    database.file().string());
    if (version > steps.back().version)
        return fail(ErrorKind::database,
                    fmt::format("the database has version {}, newer than the {} this runner knows",
                                version, steps.back().version),
                    "use the newer runner that wrote it, or name another folder with --results",
                    database.file().string());
    if (version != 0 && version < steps.front().version)
        return fail(ErrorKind::database,
                    fmt::format("the database has version {}, older than the {} that can be read",
                                version, steps.front().version),
                    how_to_rebuild(database.file()), database.file().string());
    return version;
}

void take_step(Database& database, const Migration& step) {
    // Another process may have done this step during the wait for the lock.
    if (pragma(database, "user_version") >= step.version) return;
    database.execute(std::string(step.sql));
    database.execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}",
                                 kApplicationId, step.version));
}

}  // namespace

std::span<const Migration> migrations() { return kMigrations; }

Expected<void> migrate(Database& database, std::span<const Migration> steps) {
    auto version = TRY(known_version(database, steps));
    // A new database is made as a whole or not at all: on a full disk, half of one would look like
    // that of an older runner.
    if (version == 0) {
        Transaction transaction(database);
        for (const Migration& step : steps) take_step(database, step);
        transaction.commit();
        return {};
    }
    for (const Migration& step : steps) {
        if (step.version <= version) continue;
        Transaction transaction(database);
        take_step(database, step);
        transaction.commit();
    }
    return {};
}

Expected<void> check_version(Database& database, std::span<const Migration> steps) {
    const auto version = TRY(known_version(database, steps));
    // Its maker found no room, or has only begun.
    if (version == 0)
        return fail(ErrorKind::usage, "no run is stored here: its database is empty",
                    "run a suite first; if that fails, free disk space", database.file().string());
    if (version < steps.back().version)
        return fail(ErrorKind::database,
                    fmt::format("the database has version {}, older than {}", version,
                                steps.back().version),
                    "`runner reparse` brings it up to date; so does the next run",
                    database.file().string());
    return {};
}

}  // namespace compat::store
