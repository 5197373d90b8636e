#include "runner/archive/packed/run_archive.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "runner/archive/packed/tar_zstd.h"
#include "runner/archive/rebuild.h"
#include "runner/archive/run_folder.h"
#include "runner/archive/run_record.h"
#include "runner/archive/shards.h"
#include "runner/base/files.h"
#include "runner/base/files/run_folder_name.h"

namespace compat::archive {

namespace {

constexpr const char* kUnpacked = "unpacked";  // a file in results

struct FilesToPack {
    std::vector<TarFile> files;
    std::vector<std::string> left_out;
};

// The lock is of this machine; a report is made again from the rest.
bool is_left_out(const fs::path& name) {
    constexpr std::array kNames{"lock", "report.md", "report.json", "report.html"};
    return std::any_of(kNames.begin(), kNames.end(), [&](const char* one) { return name == one; });
}

Expected<FilesToPack> files_in(const fs::path& folder, const std::string& id) {
    FilesToPack found;
    auto others = TRY(each_file(folder, [&](const fs::path& name) -> Expected<void> {
        if (is_left_out(name))
            found.left_out.push_back(name.string());
        else
            found.files.push_back({"runs/" + id + "/" + name.string(), name.string()});
        return {};
    }));
    found.left_out.insert(found.left_out.end(), others.begin(), others.end());
    std::sort(found.left_out.begin(), found.left_out.end());
    std::sort(found.files.begin(), found.files.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    return found;
}

}  // namespace

bool is_archive(const fs::path& name) {
    std::error_code error;
    return name.filename().string().ends_with(kArchiveSuffix) && fs::is_regular_file(name, error);
}

Expected<PackedRun> archive_run(const fs::path& results, const std::string& id,
                                               const fs::path& out) {
    const fs::path folder = results / run_folder_name(id);
    if (!has_record(folder))
        return fail(ErrorKind::usage, "this run's folder is gone, or an older runner made it",
                    "an archive holds what a run's folder holds", folder.string());
    if (RunLock::is_held(folder))
        return fail(ErrorKind::usage, "a runner is using this run", "wait for its end",
                    folder.string());
    return files_in(folder, id).and_then([&](FilesToPack found) {
        return write_tar_zstd(out, folder, found.files).map([&](std::uint64_t unpacked) {
            std::error_code error;
            const bool is_too_large = unpacked > most_unpacked(fs::file_size(out, error));
            return PackedRun{std::move(found.left_out), is_too_large};
        });
    });
}

bool is_unpacked(const fs::path& results) {
    std::error_code error;
    return fs::exists(results / kUnpacked, error);
}

Expected<void> unpack_run(const fs::path& file, const fs::path& results) {
    TRY(extract_tar_zstd(file, results));
    TRY(write_file(results / kUnpacked, ""));
    auto shards = shard_folders(results);
    std::error_code error;
    bool has_runs = false;
    for (const auto& entry : fs::directory_iterator(results / "runs", error))
        has_runs = has_runs || has_record(entry.path());
    if (!has_runs)
        return fail(ErrorKind::usage, "this archive holds no run",
                    "make one with `runner archive RUN`", file.string());
    if (!shards.shards.empty()) return {};
    const auto rebuilt = TRY(rebuild(results, [](bool) {}));
    if (rebuilt.lost.empty()) return {};
    return fail(ErrorKind::usage,
                fmt::format("this archive lacks {}", fmt::join(rebuilt.lost, "; ")),
                "make it again with `runner archive`", file.string());
}

}  // namespace compat::archive
