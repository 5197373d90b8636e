#include "runner/base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

namespace compat {

namespace {

tl::unexpected<Error> io_error(const char* verb, const fs::path& path, int error) {
    return fail(ErrorKind::io, fmt::format("cannot {}: {}", verb, std::strerror(error)), {},
                path.string());
}

Expected<std::string> read_open(const Fd& fd, const fs::path& path, std::uint64_t most) {
    std::string bytes;
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) return io_error("read", path, errno);
    if (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode))
        return fail(ErrorKind::io, "not a regular file", {}, path.string());
    const auto size = static_cast<std::uint64_t>(std::max<off_t>(0, status.st_size));
    if (size > most && ::lseek(fd.get(), -static_cast<off_t>(most), SEEK_END) < 0)
        return io_error("read", path, errno);
    bytes.reserve(static_cast<size_t>(std::min(size, most)));
    char buffer[1 << 16];
    while (true) {
        const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return io_error("read", path, errno);
        if (n == 0) return bytes;
        bytes.append(buffer, static_cast<size_t>(n));
    }
}

}  // namespace

int write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(fd, bytes.data(), bytes.size());
        if (n >= 0)
            bytes.remove_prefix(static_cast<size_t>(n));
        else if (errno != EINTR)
            return errno;
    }
    return 0;
}

Expected<std::string> read_file(const fs::path& path, std::uint64_t most) {
    return read_file(FileBelow::followed(path), most);
}

Expected<std::string> read_file(const FileBelow& file, std::uint64_t most) {
    return open_file(file).and_then(
        [&](const Fd& fd) { return read_open(fd, file.path(), most); });
}

Expected<AtomicFile> AtomicFile::create(const fs::path& path) {
    fs::path temp_path = path.string() + fmt::format(".tmp{}", ::getpid());
    // An earlier process with our id may have left it, or somebody planted it.
    ::unlink(temp_path.c_str());
    const int fd =
        ::open(temp_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0) return io_error("write", path, errno);
    return AtomicFile(path, std::move(temp_path), fd);
}

AtomicFile::AtomicFile(fs::path path, fs::path temp_path, int fd)
    : path_(std::move(path)), beside_(std::move(temp_path)), fd_(fd) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      beside_(std::move(other.beside_)),
      fd_(std::exchange(other.fd_, -1)),
      failed_(other.failed_) {}

AtomicFile::~AtomicFile() {
    if (fd_ < 0) return;
    ::close(fd_);
    ::unlink(beside_.c_str());
}

void AtomicFile::write(std::string_view bytes) {
    if (failed_ == 0) failed_ = write_all(fd_, bytes);
}

Expected<void> AtomicFile::commit() {
    if (failed_ == 0 && ::rename(beside_.c_str(), path_.c_str()) != 0) failed_ = errno;
    if (failed_ != 0) return io_error("write", path_, failed_);
    ::close(std::exchange(fd_, -1));
    return {};
}

Expected<void> write_file(const fs::path& path, std::string_view bytes) {
    return AtomicFile::create(path).and_then([&](AtomicFile&& file) {
        file.write(bytes);
        return file.commit();
    });
}

Expected<void> write_new_file(const FileBelow& file, std::string_view bytes) {
    return create_file(file).and_then([&](const Fd& fd) -> Expected<void> {
        const int failed = write_all(fd.get(), bytes);
        if (failed != 0) return io_error("write", file.path(), failed);
        return {};
    });
}

Expected<void> copy_file(const FileBelow& from, const FileBelow& to) {
    const auto source = TRY(open_file(from));
    const auto target = TRY(create_file(to));
    std::vector<char> buffer(1 << 20);
    while (true) {
        const ssize_t n = ::read(source.get(), buffer.data(), buffer.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return io_error("read", from.path(), errno);
        if (n == 0) return {};
        const std::string_view piece(buffer.data(), static_cast<size_t>(n));
        if (const int failed = write_all(target.get(), piece); failed != 0)
            return io_error("write", to.path(), failed);
    }
}

Expected<void> append_line(const FileBelow& file, std::string_view line, bool sync) {
    const auto fd = TRY(open_to_append(file));
    const off_t size = ::lseek(fd.get(), 0, SEEK_END);
    char last = '\n';
    if (size > 0 && ::pread(fd.get(), &last, 1, size - 1) != 1)
        return io_error("read", file.path(), errno);
    std::string bytes = last == '\n' ? "" : "\n";
    bytes.append(line).append("\n");
    if (const int failed = write_all(fd.get(), bytes); failed != 0) {
        (void)!::ftruncate(fd.get(), size);
        return io_error("write", file.path(), failed);
    }
    if (sync && ::fsync(fd.get()) != 0) return io_error("write", file.path(), errno);
    return {};
}

bool is_inside(const fs::path& path, const fs::path& folder) {
    const fs::path below = path.lexically_relative(folder);
    return !below.empty() && *below.begin() != "..";
}

Expected<void> make_directories(const fs::path& path) {
    std::error_code ec;
    fs::create_directories(path, ec);
    if (ec)
        return fail(ErrorKind::io, fmt::format("cannot create the folder: {}", ec.message()),
                    "choose a writable folder", path.string());
    return {};
}

}  // namespace compat
