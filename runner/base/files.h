// Reads whole files and writes files atomically. Not for logs and databases, which their owners
// stream.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>

#include "runner/base/error.h"

namespace compat {

// The last `most` bytes of a larger file.
[[nodiscard]] Expected<std::string> read_file(
    const std::filesystem::path& path,
    std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

// Writes a temporary file and renames it to `path`: readers see the old or the new file, whole.
class AtomicFile {
  public:
    [[nodiscard]] static Expected<AtomicFile> create(const std::filesystem::path& path);
    AtomicFile(AtomicFile&& other) noexcept;
    AtomicFile& operator=(AtomicFile&&) = delete;
    ~AtomicFile();  // removes an uncommitted file

    // `commit` returns the first error.
    void write(std::string_view bytes);
    [[nodiscard]] Expected<void> commit();

  private:
    AtomicFile(std::filesystem::path path, std::filesystem::path beside, int fd);
    std::filesystem::path path_;
    std::filesystem::path beside_;
    int fd_;
    int failed_ = 0;  // errno
};

// Writes `bytes` through an AtomicFile.
[[nodiscard]] Expected<void> write_file(const std::filesystem::path& path, std::string_view bytes);

// Appends one whole line or nothing, creating a missing file. Ends an unfinished last line first.
// `sync`: the line is on disk on return.
[[nodiscard]] Expected<void> append_line(const std::filesystem::path& path, std::string_view line,
                                         bool sync = false);

// Whether a path is the folder or below it, by their names alone. Both absolute and normal.
[[nodiscard]] bool is_inside(const std::filesystem::path& path,
                             const std::filesystem::path& folder);

// std::filesystem::create_directories with our Error.
[[nodiscard]] Expected<void> make_directories(const std::filesystem::path& path);

}  // namespace compat
