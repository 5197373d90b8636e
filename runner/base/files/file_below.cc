#include "runner/base/files/file_below.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "runner/base/isolation/file_tree.h"

namespace compat {

namespace {

// Others may make and remove files at the same time.
constexpr int kPlacingTries = 3;

struct FileKind {
    unsigned type;
    std::string_view words;
};
constexpr std::array kFileKinds{
    FileKind{S_IFLNK, "a link"},          FileKind{S_IFIFO, "a named pipe"},
    FileKind{S_IFCHR, "a device"},        FileKind{S_IFBLK, "a device"},
    FileKind{S_IFSOCK, "a socket"},       FileKind{S_IFDIR, "a folder"},
    FileKind{S_IFREG, "a regular file"},
};

// The mode of the file of that name; nothing: there is none, or it may not be read.
std::optional<unsigned> mode_of(int folder, const fs::path& name) {
    struct stat status {};
    if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
    return status.st_mode;
}

tl::unexpected<Error> refused_kind(std::string_view verb, const fs::path& path, unsigned mode,
                                   std::string_view wanted) {
    return fail(ErrorKind::usage,
                fmt::format("cannot {}: it is {}, not {}", verb, file_kind(mode), wanted),
                "remove it: no run makes such a file", path.string());
}

tl::unexpected<Error> refused_errno(std::string_view verb, const fs::path& path, int error,
                                    bool below) {
    return fail(below ? ErrorKind::usage : ErrorKind::io,
                fmt::format("cannot {}: {}", verb, std::strerror(error)), {}, path.string());
}

// The error of opening `name` in `at`. `wanted`: the expected kind of file.
tl::unexpected<Error> not_opened(std::string_view verb, int at, const fs::path& name,
                                 const fs::path& path, unsigned wanted, bool made = false) {
    const int error = errno;
    if (const auto mode = mode_of(at, name); mode && (*mode & S_IFMT) != wanted)
        return refused_kind(verb, path, *mode, file_kind(wanted));
    return refused_errno(verb, path, error, made && error == ENOENT);
}

bool leaves_its_folder(const fs::path& name) {
    if (name.empty() || name.is_absolute()) return true;
    for (const fs::path& part : name)
        if (part == ".." || part == "." || part.empty()) return true;
    return false;
}

// The folder that holds the file. `make`: missing ones between are made.
Expected<Fd> open_holder(std::string_view verb, const FileBelow& file, bool make) {
    if (leaves_its_folder(file.name))
        return fail(ErrorKind::usage,
                    fmt::format("cannot {}: \"{}\" is no name below the folder", verb,
                                file.name.string()),
                    {}, file.folder.string());
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    Fd at(::open(file.folder.empty() ? "." : file.folder.c_str(), kFlags));
    if (!at.valid()) return refused_errno(verb, file.path(), errno, false);
    fs::path path = file.folder;
    for (const fs::path& part : file.name.parent_path()) {
        path /= part;
        Fd next;
        for (int tries = 0; !next.valid() && tries < kPlacingTries; ++tries) {
            if (make && ::mkdirat(at.get(), part.c_str(), 0777) != 0 && errno != EEXIST)
                return refused_errno(verb, path, errno, false);
            next = Fd(::openat(at.get(), part.c_str(), kFlags | O_NOFOLLOW));
            if (!make || errno != ENOENT) break;
        }
        if (!next.valid()) return not_opened(verb, at.get(), part, path, S_IFDIR, make);
        at = std::move(next);
    }
    return at;
}

// O_NONBLOCK: a pipe would wait for its other end.
Expected<Fd> open_regular(std::string_view verb, const FileBelow& file, int flags) {
    const fs::path path = file.path();
    flags |= O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    if (file.follows_links) {
        Fd named(::open(path.c_str(), flags, 0666));
        if (!named.valid()) return refused_errno(verb, path, errno, false);
        return named;
    }
    const auto holder = TRY(open_holder(verb, file, false));
    const fs::path name = file.name.filename();
    Fd fd(::openat(holder.get(), name.c_str(), flags | O_NOFOLLOW, 0666));
    if (!fd.valid()) return not_opened(verb, holder.get(), name, path, S_IFREG);
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) return refused_errno(verb, path, errno, false);
    if (!S_ISREG(status.st_mode)) return refused_kind(verb, path, status.st_mode, "a regular file");
    return fd;
}

}  // namespace

std::string_view file_kind(unsigned mode) {
    for (const FileKind& row : kFileKinds)
        if ((mode & S_IFMT) == row.type) return row.words;
    return "of an unknown kind";
}

FileBelow FileBelow::followed(const fs::path& file) {
    FileBelow followed(file);
    followed.follows_links = true;
    return followed;
}

Expected<Fd> open_file(const FileBelow& file) { return open_regular("read", file, O_RDONLY); }

Expected<Fd> open_to_append(const FileBelow& file) {
    return open_regular("write", file, O_RDWR | O_CREAT | O_APPEND);
}

Expected<Fd> create_file(const FileBelow& file) {
    const auto holder = TRY(open_holder("write", file, true));
    const fs::path name = file.name.filename();
    constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    for (int tries = 0; tries < kPlacingTries; ++tries) {
        Fd fd(::openat(holder.get(), name.c_str(), kFlags, 0666));
        if (fd.valid()) return fd;
        if (errno != EEXIST) break;
        const auto mode = mode_of(holder.get(), name);
        if (mode && !S_ISREG(*mode))
            return refused_kind("write", file.path(), *mode, "a regular file");
        ::unlinkat(holder.get(), name.c_str(), 0);
    }
    return refused_errno("write", file.path(), errno, errno == ENOENT || errno == EEXIST);
}

Expected<void> rename_file(const FileBelow& from, const FileBelow& to) {
    const auto holder = TRY(open_holder("write", from, false));
    if (::renameat(holder.get(), from.name.filename().c_str(), holder.get(),
                   to.name.filename().c_str()) == 0)
        return {};
    return refused_errno("write", to.path(), errno, errno == ENOENT || errno == EISDIR);
}

void remove_file(const FileBelow& file) {
    if (const auto holder = open_holder("remove", file, false))
        ::unlinkat(holder->get(), file.name.filename().c_str(), 0);
}

Expected<void> make_empty_folder(const FileBelow& folder) {
    const auto holder = TRY(open_holder("create the folder", folder, true));
    const fs::path name = folder.name.filename();
    if (::mkdirat(holder.get(), name.c_str(), 0777) == 0) return {};
    if (errno != EEXIST)
        return refused_errno("create the folder", folder.path(), errno, errno == ENOENT);
    const auto mode = mode_of(holder.get(), name);
    if (mode && !S_ISDIR(*mode))
        return refused_kind("create the folder", folder.path(), *mode, "a folder");
    const std::error_code error = remove_tree(folder.path());
    if (!error && ::mkdirat(holder.get(), name.c_str(), 0777) == 0) return {};
    return refused_errno("create the folder", folder.path(), error ? error.value() : errno, true);
}

}  // namespace compat
