// Files as one .tar.zst: a POSIX archive (ustar, pax for long names) of regular files, compressed
// by zstd, which `tar --zstd` reads too. Not for links, owners and devices, which no run has, and
// not for what belongs to a run (run_archive.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runner/base/error.h"

namespace compat::archive {

struct TarFile {
    std::string name;            // in the archive, '/' separated
    std::filesystem::path file;  // on the disk
};

// Replaces `out` in one step. A file that is shorter or longer when it is read than when its size
// was taken is an error. Errors: io.
[[nodiscard]] Expected<void> write_tar_zstd(const std::filesystem::path& out,
                                            const std::vector<TarFile>& files);

// Extracts the regular files below `folder`, which holds none of them. Errors: usage, where it is
// no such archive, is cut off or damaged, or a name leads out of the folder; io.
[[nodiscard]] Expected<void> extract_tar_zstd(const std::filesystem::path& archive,
                                              const std::filesystem::path& folder);

}  // namespace compat::archive
