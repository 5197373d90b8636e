// Walks and removes folders that others have filled, for example tests: however deep and wide they
// are, memory and open descriptors stay bounded (the iterators of std::filesystem need the square of
// the depth). Never follows a link. Not for folders of our own, for which std::filesystem does.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>

#include "runner/base/files/fs.h"

namespace compat {

struct FoundFile {
    const std::string& path;  // relative to the folder that is walked; may be longer than PATH_MAX
    const struct stat& status;
};

// Files and folders that are walked of what tests left: whoever leaves more does not hold up the
// run.
inline constexpr std::int64_t kMostWalked = 1'000'000;
// Folders with a longer path are not entered; each level of the path takes memory.
inline constexpr std::size_t kLongestWalked = 1 << 18;

// Limits of a walk.
struct WalkLimits {
    bool one_file_system = false;  // nothing that is mounted below the folder
    std::string_view skipped{};    // no folder of this name
    std::int64_t most = std::numeric_limits<std::int64_t>::max();  // files and folders
    std::size_t longest = kLongestWalked;
};

struct WalkVisitor {
    std::function<bool(const FoundFile&)> file;      // what is no folder; whether to go on
    std::function<bool(const FoundFile&)> folder{};  // whether to enter it
    // A folder that is not entered: its path is too long, or 0 and errno of opening it.
    std::function<void(const FoundFile&, int error)> unread{};
};

// In the order of the file system. Why the folder itself cannot be read; none: it was walked, up to
// the limits.
std::error_code walk_files(const fs::path& folder, const WalkLimits& limits,
                           const WalkVisitor& visitor);
// All files that are not folders. Unreadable files are left out.
void walk_files(const fs::path& folder, const WalkLimits& limits,
                const std::function<void(const FoundFile&)>& see);

// The folder and all in it, also where its owner has no rights. Leaves what cannot be removed, and
// returns why the first of it cannot. None: nothing is left.
std::error_code remove_tree(const fs::path& folder);

}  // namespace compat
