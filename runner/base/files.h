// Reads whole files and writes files atomically. Not for logs and databases, which their owners
// stream.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "runner/base/error.h"
#include "runner/base/files/file_below.h"
#include "runner/base/files/fs.h"

namespace compat {

// The last `most` bytes of a larger file. For a path, links are followed.
[[nodiscard]] Expected<std::string> read_file(
    const fs::path& path, std::uint64_t most = std::numeric_limits<std::uint64_t>::max());
[[nodiscard]] Expected<std::string> read_file(
    const FileBelow& file, std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

// Writes a temporary file and renames it to `path`: readers see the old or the new file, whole.
class AtomicFile {
  public:
    [[nodiscard]] static Expected<AtomicFile> create(const fs::path& path);
    AtomicFile(AtomicFile&& other) noexcept;
    AtomicFile& operator=(AtomicFile&&) = delete;
    ~AtomicFile();  // removes an uncommitted file

    // `commit` returns the first error.
    void write(std::string_view bytes);
    [[nodiscard]] Expected<void> commit();

  private:
    AtomicFile(fs::path path, fs::path beside, int fd);
    fs::path path_;
    fs::path beside_;
    int fd_;
    int failed_ = 0;  // errno
};

// Writes `bytes` through an AtomicFile.
[[nodiscard]] Expected<void> write_file(const fs::path& path, std::string_view bytes);
// Not in one step, but with the folders above it.
[[nodiscard]] Expected<void> write_new_file(const FileBelow& file, std::string_view bytes);

// The rest of `bytes` after an interruption too. 0, or errno.
[[nodiscard]] int write_all(int fd, std::string_view bytes);
[[nodiscard]] Expected<void> copy_file(const FileBelow& from, const FileBelow& to);

// Appends one whole line or nothing, creating a missing file. Ends an unfinished last line first.
// `sync`: the line is on disk on return.
[[nodiscard]] Expected<void> append_line(const FileBelow& file, std::string_view line,
                                         bool sync = false);

// Whether a path is the folder or below it, by their names alone. Both absolute and normal.
[[nodiscard]] bool is_inside(const fs::path& path, const fs::path& folder);

// fs::create_directories with our Error.
[[nodiscard]] Expected<void> make_directories(const fs::path& path);

}  // namespace compat
