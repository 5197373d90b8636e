#include "runner/serve/run_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "runner/serve/address.h"

namespace compat::serve {

namespace {

constexpr std::array<FileType, 3> kTypes{{
    {".html", "text/html; charset=utf-8"},
    {".json", "application/json"},
    {".gz", "application/gzip"},
}};

}  // namespace

std::optional<OpenFile> open_below(const std::filesystem::path& folder,
                                   std::span<const std::string> components) {
    if (components.empty()) return {};
    int at = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (std::size_t i = 0; at >= 0 && i < components.size(); ++i) {
        const bool is_last = i + 1 == components.size();
        // Without O_NONBLOCK a named pipe would wait for its writer.
        const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | (is_last ? O_NONBLOCK : O_DIRECTORY);
        const int next =
            is_file_name(components[i]) ? ::openat(at, components[i].c_str(), flags) : -1;
        ::close(at);
        at = next;
    }
    if (at < 0) return {};
    struct stat file {};
    if (::fstat(at, &file) != 0 || !S_ISREG(file.st_mode)) {
        ::close(at);
        return {};
    }
    return OpenFile{at, static_cast<std::uint64_t>(file.st_size), std::int64_t{file.st_mtime}};
}

std::string_view type_of(std::string_view name) {
    for (const FileType& row : kTypes)
        if (name.ends_with(row.ending)) return row.type;
    return "text/plain; charset=utf-8";
}

}  // namespace compat::serve
