#include "runner/base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

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

Expected<std::string> read_file(const fs::path& path) {
    // A suite may have put a pipe in the place of a file: neither opening nor reading may wait.
    const Fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (fd.value < 0) return io_error("read", path, errno);
    std::string bytes;
    struct stat status {};
    if (::fstat(fd.value, &status) != 0) return io_error("read", path, errno);
    if (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode))
        return fail(ErrorKind::io, "this is no file", {}, path.string());
    if (status.st_size > 0) bytes.reserve(static_cast<size_t>(status.st_size));
    char buffer[1 << 16];
    while (true) {
        const ssize_t n = ::read(fd.value, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return io_error("read", path, errno);
        if (n == 0) return bytes;
        bytes.append(buffer, static_cast<size_t>(n));
    }
}

Expected<void> write_file(const fs::path& path, std::string_view bytes) {
    const fs::path beside = path.string() + fmt::format(".tmp{}", ::getpid());
    int failed = 0;
    {
        const Fd fd{::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)};
        if (fd.value < 0) return io_error("write", path, errno);
        while (!bytes.empty() && failed == 0) {
            const ssize_t n = ::write(fd.value, bytes.data(), bytes.size());
            if (n >= 0)
                bytes.remove_prefix(static_cast<size_t>(n));
            else if (errno != EINTR)
                failed = errno;
        }
    }
    if (failed == 0 && ::rename(beside.c_str(), path.c_str()) != 0) failed = errno;
    if (failed == 0) return {};
    ::unlink(beside.c_str());
    return io_error("write", path, failed);
}

Expected<void> make_directories(const fs::path& path) {
    std::error_code ec;
    fs::create_directories(path, ec);
    if (ec)
        return fail(ErrorKind::io, fmt::format("cannot make the folder: {}", ec.message()),
                    "name a folder that can be written", path.string());
    return {};
}

}  // namespace compat
