// Turns stdin, gzip and UTF-16 into plain UTF-8 files. Not here: reading results from them
// (imported_files.h).
#pragma once

#include <boost/interprocess/mapped_region.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "runner/base/error.h"
#include "runner/base/files/fs.h"

namespace compat::archive {

// On the command line: standard input.
inline constexpr std::string_view kStdin = "-";

// A file's bytes as memory, never more of them in it than are looked at. Only for files that are
// ours: one that somebody else shortens meanwhile ends the program (SIGBUS).
class Mapped {
  public:
    [[nodiscard]] static Expected<Mapped> open(const fs::path& file);
    [[nodiscard]] std::string_view bytes() const {
        return {static_cast<const char*>(region_.get_address()), region_.get_size()};
    }

  private:
    Mapped() = default;
    explicit Mapped(boost::interprocess::mapped_region region) : region_(std::move(region)) {}
    boost::interprocess::mapped_region region_;
};

// The first and the last `most` bytes of a file, or all of a shorter one.
[[nodiscard]] Expected<std::string> ends_of(const fs::path& file, std::size_t most);

struct PlainFile {
    fs::path file;
    std::string name;  // of what was named, without ".gz"
};

// Input from a pipe or an archive is refused past this many bytes: it may never end.
inline constexpr std::uint64_t kMostUnsized = std::uint64_t{4} << 30;

// `into`: where what is no plain file yet becomes one; its folder is made then. `stdin_name`: what
// stdin is called as a file. Errors: usage, naming the file and the command that helps: packed in
// another way, cut off, larger than `most`; io.
[[nodiscard]] Expected<PlainFile> plain_file(const std::string& name, const std::string& stdin_name,
                                             const fs::path& into,
                                             std::uint64_t most = kMostUnsized);

}  // namespace compat::archive
