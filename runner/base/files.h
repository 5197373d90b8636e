// Files that are read whole, and files that appear whole. Not for logs and databases, which are
// streamed by their owners.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>

#include "runner/base/error.h"

namespace compat {

// Of a file with more than `most` bytes, the last of them.
[[nodiscard]] Expected<std::string> read_file(
    const std::filesystem::path& path,
    std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

// Written beside and renamed over `path`: a reader sees the old file or the new one, never half.
class NewFile {
  public:
    [[nodiscard]] static Expected<NewFile> create(const std::filesystem::path& path);
    NewFile(NewFile&& other) noexcept;
    NewFile& operator=(NewFile&&) = delete;
    ~NewFile();  // what was not committed is gone

    // What goes wrong is told by `commit`.
    void write(std::string_view bytes);
    [[nodiscard]] Expected<void> commit();

  private:
    NewFile(std::filesystem::path path, std::filesystem::path beside, int fd);
    std::filesystem::path path_;
    std::filesystem::path beside_;
    int fd_;
    int failed_ = 0;  // errno
};

// A NewFile of these bytes.
[[nodiscard]] Expected<void> write_file(const std::filesystem::path& path, std::string_view bytes);

// One line more at a file's end, which is made where there is none: all of it or nothing. A line
// that somebody before left unfinished is closed first. `sync`: on the disk when it returns.
[[nodiscard]] Expected<void> append_line(const std::filesystem::path& path, std::string_view line,
                                         bool sync = false);

// As std::filesystem::create_directories, with our error.
[[nodiscard]] Expected<void> make_directories(const std::filesystem::path& path);

}  // namespace compat
