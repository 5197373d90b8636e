// Files as one .tar.zst: a POSIX archive (ustar, pax for long names) of regular files, compressed
// by zstd, which `tar --zstd` reads too. Not for links, owners and devices, which no run has, and
// not for what belongs to a run (run_archive.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/files/fs.h"

namespace compat::archive {

struct TarFile {
    std::string name;  // in the archive, '/' separated
    std::string file;  // below the folder on the disk
};

// Replaces `out` in one step. A file that is shorter or longer when it is read than when its size
// was taken is an error. Returns the bytes that the files count as when they are extracted.
// Errors: io.
[[nodiscard]] Expected<std::uint64_t> write_tar_zstd(const fs::path& out, const fs::path& folder,
                                                     const std::vector<TarFile>& files);

// A small archive may unpack to any size. This is what the files of one of `packed` bytes may have
// together; each counts as a block of the disk at least, and so does each folder above it.
[[nodiscard]] std::uint64_t most_unpacked(std::uint64_t packed);

// Extracts the regular files below `folder`, which holds none of them. Errors: usage, where it is
// no such archive, is cut off or damaged, has more than `most` bytes (empty: than `most_unpacked`),
// or a name leads out of the folder; io.
[[nodiscard]] Expected<void> extract_tar_zstd(const fs::path& archive, const fs::path& folder,
                                              std::optional<std::uint64_t> most = {});

}  // namespace compat::archive
