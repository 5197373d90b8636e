// The folder of stored results: whether there is one, and its database, opened so that no command
// replaces it meanwhile. Not here: the folder of one run (run_folder.h).
#pragma once

#include <optional>
#include <utility>

#include "runner/archive/run_folder.h"
#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "runner/store/store.h"

namespace compat::archive {

[[nodiscard]] bool has_database(const fs::path& results);

// `folder`, which holds a database. Errors: usage, where it holds nothing or only shards; database,
// where the database of its runs is gone.
[[nodiscard]] Expected<fs::path> existing_results(const fs::path& folder);

// Where a run is stored: the database of a results folder, which is not replaced while it is open,
// or a temporary one.
class OpenResults : public store::Store {
  public:
    explicit OpenResults(store::Store store, std::optional<ResultsLock> lock = std::nullopt)
        : store::Store(std::move(store)), lock_(std::move(lock)) {}

  private:
    std::optional<ResultsLock> lock_;
};

// Opens the results folder's database, making what is missing.
[[nodiscard]] Expected<OpenResults> open_results(const fs::path& results);
// For a shard, which writes nothing to the results folder but its run's folder: SQLite is not
// reliable on network file systems.
[[nodiscard]] Expected<OpenResults> open_shard_results(const fs::path& results);

}  // namespace compat::archive
