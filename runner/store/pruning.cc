#include "runner/store/pruning.h"

#include "runner/store/edge.h"
#include "runner/store/store_impl.h"

namespace compat::store {

namespace {

// Each set of users is read once. Checking foreign keys would search the users of each row that is
// deleted, which have no index for it.
constexpr const char* kDeleteUnused = R"sql(
    DELETE FROM text WHERE id NOT IN (
        SELECT message FROM failure UNION ALL
        SELECT traceback FROM failure UNION ALL
        SELECT frames FROM failure);
    DELETE FROM test WHERE id NOT IN (
        SELECT test FROM result UNION ALL
        SELECT test FROM device_event WHERE test IS NOT NULL UNION ALL
        SELECT test FROM kernel_count WHERE test IS NOT NULL UNION ALL
        SELECT test FROM collective WHERE test IS NOT NULL UNION ALL
        SELECT test FROM optimizer_step WHERE test IS NOT NULL);
    DELETE FROM source_file WHERE id NOT IN (SELECT file FROM result WHERE file IS NOT NULL);
    DELETE FROM site WHERE id NOT IN (SELECT site FROM device_event);
    DELETE FROM suite WHERE id NOT IN (SELECT suite FROM run UNION ALL SELECT suite FROM test);
)sql";

std::int64_t pragma_value(Database& database, std::string_view name) {
    Statement row = database.prepare("PRAGMA " + std::string(name));
    row.step();
    return row.integer();
}

// SQLite ignores the switch inside of a transaction.
class WithoutForeignKeys {
  public:
    explicit WithoutForeignKeys(Database& database) : database_(database) {
        database_.execute("PRAGMA foreign_keys = OFF");
    }
    ~WithoutForeignKeys() {
        try {
            database_.execute("PRAGMA foreign_keys = ON");
        } catch (const SqlError&) {  // another error is on its way, which ends the use of it
        }
    }
    WithoutForeignKeys(const WithoutForeignKeys&) = delete;
    WithoutForeignKeys& operator=(const WithoutForeignKeys&) = delete;

  private:
    Database& database_;
};

}  // namespace

Expected<void> delete_unused(const Store& store) {
    Database& database = store.impl().database;
    return guarded(database.file(), [&]() -> Expected<void> {
        const WithoutForeignKeys unchecked(database);
        return write(database, [&]() -> Expected<void> {
            database.execute(kDeleteUnused);
            return {};
        });
    });
}

Expected<DatabaseSpace> space_of(const Store& store) {
    Database& database = store.impl().database;
    return guarded(database.file(), [&]() -> Expected<DatabaseSpace> {
        const std::int64_t page = pragma_value(database, "page_size");
        return DatabaseSpace{page * pragma_value(database, "page_count"),
                             page * pragma_value(database, "freelist_count")};
    });
}

Expected<void> shrink(Store& store) {
    Database& database = store.impl().database;
    return guarded(database.file(), [&]() -> Expected<void> {
        database.execute("VACUUM");
        // Its result tells whether readers were in the way: then the log stays, and nothing is
        // lost.
        Statement checkpoint = database.prepare("PRAGMA wal_checkpoint(TRUNCATE)");
        checkpoint.step();
        return {};
    });
}

}  // namespace compat::store
