// A copy of a project's folder, for tests that run with changed sources. The folder itself is only
// read. Not for what is changed in the copy (verify_fixes.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "runner/base/error.h"

namespace compat::run {

// Larger projects are an error: they hold data.
inline constexpr std::uintmax_t kMaxCopyBytes = 4ull << 30;

struct CopiedFiles {
    std::uintmax_t files = 0, bytes = 0;
};

// Copies `from` to `to`, which must not exist. Leaves out version control, virtual environments,
// caches, sockets and the folders in `without`. A link to something inside leads to its copy, one to
// something outside stays. Errors: usage, if it is too large; io.
[[nodiscard]] Expected<CopiedFiles> copy_project(
    const std::filesystem::path& from, const std::filesystem::path& to,
    const std::vector<std::filesystem::path>& without = {});

}  // namespace compat::run
