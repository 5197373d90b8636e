// Whole files, read and written. Not for logs and databases, which are streamed by their owners.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "runner/base/error.h"

namespace compat {

[[nodiscard]] Expected<std::string> read_file(const std::filesystem::path& path);

// Written beside and renamed over `path`: a reader sees the old file or the new one, never half.
[[nodiscard]] Expected<void> write_file(const std::filesystem::path& path, std::string_view bytes);

// As std::filesystem::create_directories, with our error.
[[nodiscard]] Expected<void> make_directories(const std::filesystem::path& path);

}  // namespace compat
