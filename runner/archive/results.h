// The folder of stored results: whether there is one, and its database, opened so that no command
// replaces it meanwhile. Not here: the folder of one run (run_folder.h).
#pragma once

#include <filesystem>
#include <utility>

#include "runner/archive/run_folder.h"
#include "runner/base/error.h"
#include "runner/store/store.h"

namespace compat::archive {

// `folder`, which holds a database. Errors: usage, where there is none, or where runs are there and
// their database is gone.
[[nodiscard]] Expected<std::filesystem::path> existing_results(const std::filesystem::path& folder);

// The database of a results folder, which is not replaced while it is open.
class OpenResults : public store::Store {
  public:
    OpenResults(ResultsLock lock, store::Store store)
        : store::Store(std::move(store)), lock_(std::move(lock)) {}

  private:
    ResultsLock lock_;
};

// Opens the results folder's database, making what is missing.
[[nodiscard]] Expected<OpenResults> open_results(const std::filesystem::path& results);

}  // namespace compat::archive
