#include "runner/serve/run_files.h"

#include <sys/stat.h>

#include <array>

#include "runner/base/files/file_below.h"
#include "runner/http/address.h"

namespace compat::serve {

namespace {

constexpr std::array<FileType, 3> kTypes{{
    {".html", "text/html; charset=utf-8"},
    {".json", "application/json"},
    {".gz", "application/gzip"},
}};

}  // namespace

std::optional<OpenFile> open_below(const fs::path& folder,
                                   std::span<const std::string> components) {
    FileBelow file(folder, {});
    for (const std::string& component : components) {
        if (!http::is_file_name(component)) return {};
        file.name /= component;
    }
    auto fd = open_file(file);
    struct stat status {};
    if (!fd || ::fstat(fd->get(), &status) != 0) return {};
    return OpenFile{fd->release(), static_cast<std::uint64_t>(status.st_size),
                    std::int64_t{status.st_mtime}};
}

std::string_view type_of(std::string_view name) {
    for (const FileType& row : kTypes)
        if (name.ends_with(row.ending)) return row.type;
    return "text/plain; charset=utf-8";
}

}  // namespace compat::serve
