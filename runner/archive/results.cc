#include "runner/archive/results.h"

#include "runner/archive/run_record.h"
#include "runner/base/files.h"

namespace compat::archive {

namespace fs = std::filesystem;

namespace {

// A new database would hide the runs that are there.
bool is_gone(const fs::path& results) {
    std::error_code error;
    if (const auto size = fs::file_size(results / "runner.db", error); !error && size > 0)
        return false;
    for (const auto& entry : fs::directory_iterator(results / "runs", error))
        if (has_record(entry.path())) return true;
    return false;
}

}  // namespace

Expected<fs::path> existing_results(const fs::path& folder) {
    std::error_code error;
    if (is_gone(folder)) return tl::unexpected(store::Store::gone(folder / "runner.db"));
    if (fs::exists(folder / "runner.db", error)) return folder;
    return fail(ErrorKind::usage, "no run is stored here",
                "run a suite first, or name another folder with --results", folder.string());
}

// Made first of all, so that a folder that cannot be written is known before minutes are spent.
Expected<OpenResults> open_results(const fs::path& results) {
    std::error_code error;
    const bool is_new = !fs::exists(results, error);
    if (auto made = make_directories(results / "runs"); !made) return tl::unexpected(made.error());
    // Results lie in a checkout as often as not, and nobody wants to commit them.
    if (is_new)
        if (auto ignored = write_file(results / ".gitignore", "*\n"); !ignored)
            return tl::unexpected(ignored.error());
    auto lock = ResultsLock::share(results);
    if (!lock) return tl::unexpected(lock.error());
    if (is_gone(results)) return tl::unexpected(store::Store::gone(results / "runner.db"));
    return store::Store::open(results / "runner.db").map([&](store::Store&& store) {
        return OpenResults(std::move(*lock), std::move(store));
    });
}

}  // namespace compat::archive
