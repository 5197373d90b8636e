// A run as one file, `<run>.tar.zst`: what its folder holds, without its reports, which `report`
// makes from it. Not here: the format (tar_zstd.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/files/fs.h"

namespace compat::archive {

inline constexpr std::string_view kArchiveSuffix = ".tar.zst";

// Whether a name means an archive rather than a folder or a run: a file with that suffix.
[[nodiscard]] bool is_archive(const fs::path& name);

struct PackedRun {
    std::vector<std::string> left_out;  // relative to the run's folder
    bool is_too_large = false;          // commands refuse to unpack it
};

// Writes results/runs/<id> to `out`. Errors: usage, where the run has no folder, or a runner is
// using it; io.
[[nodiscard]] Expected<PackedRun> archive_run(const fs::path& results, const std::string& id,
                                              const fs::path& out);

// Whether unpack_run made these results. They come from elsewhere: what they name outside their
// folder, as the root of a source, is not read.
[[nodiscard]] bool is_unpacked(const fs::path& results);

// Makes a results folder of an archive in the empty folder `results`: its files, and of a run that
// is no shard a database.
[[nodiscard]] Expected<void> unpack_run(const fs::path& file, const fs::path& results);

}  // namespace compat::archive
