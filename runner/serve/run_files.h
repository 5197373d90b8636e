// Opens files of a run's folder for a server, and nothing outside it. Not for which run (pages.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runner/base/files/fs.h"

namespace compat::serve {

struct OpenFile {
    int fd = -1;  // the caller closes it
    std::uint64_t size = 0;
    std::int64_t changed = 0;  // seconds since 1970
};

// A regular file below `folder`, by the components of its path. Follows no symbolic link, neither a
// folder nor the file itself. Empty: there is no such file.
[[nodiscard]] std::optional<OpenFile> open_below(const fs::path& folder,
                                                 std::span<const std::string> components);

struct FileType {
    std::string_view ending;
    std::string_view type;
};
// By the name's ending; text, if no row has it: a browser must not run what a test wrote.
[[nodiscard]] std::string_view type_of(std::string_view name);

}  // namespace compat::serve
