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

namespace compat {

namespace fs = std::filesystem;

namespace {

struct Fd {
    int value;
    ~Fd() {
        if (value >= 0) ::close(value);
    }
};

tl::unexpected<Error> io_error(const char* verb, const fs::path& path, int error) {
    return fail(ErrorKind::io, fmt::format("cannot {}: {}", verb, std::strerror(error)), {},
                path.string());
}

}  // namespace

Expected<std::string> read_file(const fs::path& path, std::uint64_t most) {
    // A suite may have replaced the file with a pipe: neither open nor read may block.
    const Fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (fd.value < 0) return io_error("read", path, errno);
    std::string bytes;
    struct stat status {};
    if (::fstat(fd.value, &status) != 0) return io_error("read", path, errno);
    if (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode))
        return fail(ErrorKind::io, "not a regular file", {}, path.string());
    const auto size = static_cast<std::uint64_t>(std::max<off_t>(0, status.st_size));
    if (size > most && ::lseek(fd.value, -static_cast<off_t>(most), SEEK_END) < 0)
        return io_error("read", path, errno);
    bytes.reserve(static_cast<size_t>(std::min(size, most)));
    char buffer[1 << 16];
    while (true) {
        const ssize_t n = ::read(fd.value, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return io_error("read", path, errno);
        if (n == 0) return bytes;
        bytes.append(buffer, static_cast<size_t>(n));
    }
}

Expected<AtomicFile> AtomicFile::create(const fs::path& path) {
    fs::path temp_path = path.string() + fmt::format(".tmp{}", ::getpid());
    const int fd = ::open(temp_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
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
    while (!bytes.empty() && failed_ == 0) {
        const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
        if (n >= 0)
            bytes.remove_prefix(static_cast<size_t>(n));
        else if (errno != EINTR)
            failed_ = errno;
    }
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

Expected<void> append_line(const fs::path& path, std::string_view line, bool sync) {
    const Fd fd{::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666)};
    if (fd.value < 0) return io_error("write", path, errno);
    const off_t size = ::lseek(fd.value, 0, SEEK_END);
    char last = '\n';
    if (size > 0 && ::pread(fd.value, &last, 1, size - 1) != 1)
        return io_error("read", path, errno);
    std::string bytes = last == '\n' ? "" : "\n";
    bytes.append(line).append("\n");
    for (std::string_view rest = bytes; !rest.empty();) {
        const ssize_t n = ::write(fd.value, rest.data(), rest.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            const int why = errno;
            (void)!::ftruncate(fd.value, size);
            return io_error("write", path, why);
        }
        rest.remove_prefix(static_cast<size_t>(n));
    }
    if (sync && ::fsync(fd.value) != 0) return io_error("write", path, errno);
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
