#include "runner/exec/log_writer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace compat::exec {

LogWriter::LogWriter(FileBelow file, std::uint64_t limit) : file_(std::move(file)) {
    constexpr auto kUnlimited = std::numeric_limits<std::uint64_t>::max() / 4;
    head_ = limit ? limit / 2 : kUnlimited;
    tail_ = limit ? std::max<std::uint64_t>(limit - head_, 1) : kUnlimited;
    if (auto made = create_file(file_))
        fd_ = std::move(*made);
    else
        keep_error(std::move(made.error()));
}

void LogWriter::keep_error(Error error) {
    if (!error_) error_ = std::move(error);
}

void LogWriter::keep_error(int error) {
    keep_error(Error{ErrorKind::io, fmt::format("cannot write the log: {}", std::strerror(error)),
                     "free disk space or choose another folder with --results",
                     file_.path().string()});
}

void LogWriter::write_at(std::uint64_t offset, std::string_view bytes) {
    while (!bytes.empty() && !error_) {
        const ssize_t n =
            ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return keep_error(errno);
        bytes.remove_prefix(static_cast<size_t>(n));
        offset += static_cast<std::uint64_t>(n);
    }
}

void LogWriter::append(std::string_view bytes) {
    while (!bytes.empty() && !error_) {
        std::uint64_t at = total_, room = head_ - std::min(head_, total_);
        if (room == 0) {
            const std::uint64_t in_ring = (total_ - head_) % tail_;
            at = head_ + in_ring;
            room = tail_ - in_ring;
        }
        const auto piece =
            bytes.substr(0, static_cast<size_t>(std::min<std::uint64_t>(room, bytes.size())));
        write_at(at, piece);
        total_ += piece.size();
        bytes.remove_prefix(piece.size());
    }
}

// Rewrites the file: the head, a line with the number of dropped bytes, the tail from its oldest
// byte.
void LogWriter::move_tail_behind_head(std::uint64_t dropped) {
    FileBelow temp = file_;
    temp.name += ".tmp";
    auto made = create_file(temp);
    if (!made) return keep_error(std::move(made.error()));
    const Fd old = std::exchange(fd_, std::move(*made));
    std::vector<char> buffer(1 << 20);
    std::uint64_t written = 0;
    const auto copy = [&](std::uint64_t from, std::uint64_t to) {
        while (from < to && !error_) {
            const size_t want =
                static_cast<size_t>(std::min<std::uint64_t>(buffer.size(), to - from));
            const ssize_t n = ::pread(old.get(), buffer.data(), want, static_cast<off_t>(from));
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) return keep_error(n < 0 ? errno : EIO);
            write_at(written, {buffer.data(), static_cast<size_t>(n)});
            written += static_cast<std::uint64_t>(n);
            from += static_cast<std::uint64_t>(n);
        }
    };
    const std::uint64_t oldest = head_ + (total_ - head_) % tail_;
    copy(0, head_);
    const std::string marker = fmt::format(
        "\n[runner: {} bytes of this log were dropped here (limits.log_bytes)]\n", dropped);
    write_at(written, marker);
    written += marker.size();
    copy(oldest, head_ + tail_);
    copy(head_, oldest);
    if (!error_)
        if (auto renamed = rename_file(temp, file_); !renamed)
            keep_error(std::move(renamed.error()));
    if (error_) remove_file(temp);
}

std::uint64_t LogWriter::finish() {
    const std::uint64_t kept = head_ + tail_;
    const std::uint64_t dropped = total_ > kept ? total_ - kept : 0;
    if (dropped > 0 && !error_) move_tail_behind_head(dropped);
    if (fd_.valid() && ::close(fd_.release()) != 0) keep_error(errno);
    return dropped;
}

}  // namespace compat::exec
