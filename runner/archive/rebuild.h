// The database made anew from the runs' folders. Not for one run's files read again (reparse.h).
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "runner/base/error.h"

namespace compat::archive {

struct Rebuilt {
    long runs_from_folders = 0;
    long runs_from_old = 0;  // taken from the old database, as are these gaps
    long gaps_from_old = 0;
    std::filesystem::path old_database;  // where it is kept; empty: there was none
    std::vector<std::string> lost;       // what neither folders nor the old database tell
};

// In a fresh file, which takes the old one's place when all is done; the old one is kept beside it.
// What the folders do not tell is taken from the old database, as far as it can be read.
// `on_interrupt` as TempOutput's. Errors: usage, where there are no folders of runs; io.
[[nodiscard]] Expected<Rebuilt> rebuild(const std::filesystem::path& results,
                                        std::function<void(bool kept)> on_interrupt);

}  // namespace compat::archive
