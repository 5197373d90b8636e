// Walks and removes folders that others have filled, for example tests: however deep and wide they
// are, memory and open descriptors stay bounded. Never follows a link. Not for folders of our own,
// for which std::filesystem does.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>

namespace compat {

struct FoundFile {
    const std::string& path;  // relative to the folder that is walked; may be longer than PATH_MAX
    const struct stat& status;
};

// What is not walked, and how far.
struct WalkLimits {
    bool one_file_system = false;  // nothing that is mounted below the folder
    std::string_view skipped{};    // no folder of this name
    std::int64_t most = std::numeric_limits<std::int64_t>::max();  // files and folders
};

// Calls `see` for each file that is not a folder, in the order of the file system. What cannot be
// read is left out.
void walk_files(const std::filesystem::path& folder, const WalkLimits& limits,
                const std::function<void(const FoundFile&)>& see);

// The folder and all in it, also where its owner has no rights. Leaves what cannot be removed, and
// returns why the first of it cannot. None: nothing is left.
std::error_code remove_tree(const std::filesystem::path& folder);

}  // namespace compat
