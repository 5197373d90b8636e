// The database's part of `runner prune` besides Store::delete_run: rows that no run uses any more,
// and the space of deleted rows. Not for choosing runs (runner/archive/prune.h).
#pragma once

#include <cstdint>

#include "runner/base/error.h"
#include "runner/store/store.h"

namespace compat::store {

// Deletes texts, tests, source files, places and suites that no run uses. One transaction.
[[nodiscard]] Expected<void> delete_unused(const Store& store);

struct DatabaseSpace {
    std::int64_t bytes = 0;       // of the file, without its write-ahead log
    std::int64_t free_bytes = 0;  // of it, for rows to come
};
[[nodiscard]] Expected<DatabaseSpace> space_of(const Store& store);

// Writes the database anew without its free space (VACUUM). Needs that much room on the disk once
// more. Readers go on with what they see. Writers wait, so call it while no run goes on. While
// others read, the file gets smaller only when a later writer has moved the log into it.
[[nodiscard]] Expected<void> shrink(Store& store);

}  // namespace compat::store
