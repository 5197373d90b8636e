// A run's private copy of a suite's source, and what its tests wrote into it. Not here: where the
// copy lies and who sees it (isolation.h).
#pragma once

#include <cstdint>
#include <ctime>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "runner/base/isolation/written_files.h"

namespace compat::run {

struct SourceCopy {
    fs::path from, to;
    bool is_mounted = false;  // at `from`, for its tests: links need no change
    // Folders of `from` that are not the source's: results, environments. Links to them stand in
    // their place, or, where the copy is mounted, empty folders for what will be mounted there.
    std::vector<fs::path> links;
    std::int64_t files = 0, bytes = 0;
    std::int64_t shared = 0;   // files whose blocks the copy shares with the source (reflink)
    std::int64_t skipped = 0;  // sockets, devices, what cannot be read
    timespec finished{};       // by the clock of the file system
};

// Never by hard links: root and chmod write through those. Links into `from` lead into the copy,
// others where they led. Errors: io, for example no space.
[[nodiscard]] Expected<void> copy_source(SourceCopy& copy);

// Files of the copy that are new, changed or deleted since it was made. Without what Python itself
// writes (__pycache__).
[[nodiscard]] WrittenFiles writes_to(const SourceCopy& copy);

// All files below `folder`, as new ones.
[[nodiscard]] WrittenFiles files_below(const fs::path& folder, std::string place);

}  // namespace compat::run
