// The versions of the database and the steps between them, forward
// only. SQLite's `user_version` holds the version; 0 is an empty
// file. Version 18 is the first that is read. A change of the schema adds a step and edits no old
// one.
#pragma once

#include <span>
#include <string_view>

#include "runner/base/error.h"
#include "runner/store/database.h"

namespace compat::store {

struct Migration {
    int version;           // what the database is after it; rows count up without a gap
    std::string_view sql;  // statements, run in one transaction with the change of version
};

[[nodiscard]] std::span<const Migration> migrations();

// Brings the database to the last version in `steps`, each step in a transaction: a failure leaves
// the version before it. Errors: database, where it is newer than `steps`, older than the first, or
// belongs to another program. Throws SqlError.
[[nodiscard]] Expected<void> migrate(Database& database, std::span<const Migration> steps);

// Changes nothing: refuses an older database too.
[[nodiscard]] Expected<void> check_version(Database& database, std::span<const Migration> steps);

}  // namespace compat::store
