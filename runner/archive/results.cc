#include "runner/archive/results.h"

#include "runner/archive/run_record.h"
#include "runner/archive/shards.h"
#include "runner/base/files.h"

namespace compat::archive {

namespace {

// A new database would hide the runs that are there. Shards are in none.
bool is_gone(const fs::path& results) {
    std::error_code error;
    if (const auto size = fs::file_size(results / "runner.db", error); !error && size > 0)
        return false;
    for (const auto& entry : fs::directory_iterator(results / "runs", error)) {
        if (!has_record(entry.path()) || !has_start(entry.path())) continue;
        if (const auto info = read_run_info(entry.path()); !info || info->shard.empty())
            return true;
    }
    return false;
}

// Made first of all, so that a folder that cannot be written is known before minutes are spent.
Expected<void> make_results(const fs::path& results) {
    std::error_code error;
    const bool is_new = !fs::exists(results, error);
    TRY(make_directories(results / "runs"));
    // Results lie in a checkout as often as not, and nobody wants to commit them.
    return is_new ? write_file(results / ".gitignore", "*\n") : Expected<void>{};
}

}  // namespace

bool has_database(const fs::path& results) {
    std::error_code error;
    return fs::exists(results / "runner.db", error);
}

Expected<fs::path> existing_results(const fs::path& folder) {
    if (is_gone(folder)) return tl::unexpected(store::Store::gone(folder / "runner.db"));
    if (has_database(folder)) return folder;
    if (!shard_folders(folder).shards.empty())
        return fail(
            ErrorKind::usage, "this folder only has shards, and no database holds them",
            "`runner runs` lists them; `runner merge FOLDER...` makes one run of all shards",
            folder.string());
    return fail(ErrorKind::usage, "no run is stored here",
                "run a suite first, or name another folder with --results", folder.string());
}

Expected<OpenResults> open_results(const fs::path& results) {
    TRY(make_results(results));
    auto lock = TRY(ResultsLock::share(results));
    if (is_gone(results)) return tl::unexpected(store::Store::gone(results / "runner.db"));
    return store::Store::open(results / "runner.db").map([&](store::Store&& store) {
        return OpenResults(std::move(store), std::move(lock));
    });
}

Expected<OpenResults> open_shard_results(const fs::path& results) {
    return make_results(results)
        .and_then([] { return store::Store::temporary(); })
        .map([](store::Store&& store) { return OpenResults(std::move(store)); });
}

}  // namespace compat::archive
