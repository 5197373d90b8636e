#include "runner/base/line_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace compat {

void LineSplitter::keep(std::string_view piece) {
    const std::size_t kept = std::min(piece.size(), line_bytes_ - partial_.size());
    partial_ += piece.substr(0, kept);
    cut_bytes_ += piece.size() - kept;
}

void LineSplitter::visit_line(std::string_view text, bool complete, const LineVisitor& visit) {
    const Line line{text, offset_, cut_bytes_, complete};
    offset_ += text.size() + cut_bytes_ + (complete ? 1 : 0);
    if (cut_bytes_ > 0) ++cut_lines_;
    cut_bytes_ = 0;
    visit(line);
}

void LineSplitter::feed(std::string_view bytes, const LineVisitor& visit) {
    for (std::size_t end; (end = bytes.find('\n')) != std::string_view::npos;
         bytes.remove_prefix(end + 1)) {
        // Nearly every line is in one piece and needs no copy.
        if (partial_.empty() && end <= line_bytes_) {
            visit_line(bytes.substr(0, end), true, visit);
            continue;
        }
        keep(bytes.substr(0, end));
        visit_line(partial_, true, visit);
        partial_.clear();
    }
    keep(bytes);
}

void LineSplitter::finish(const LineVisitor& visit) {
    if (partial_.empty()) return;
    visit_line(partial_, false, visit);
    partial_.clear();
}

Expected<bool> LineReader::read(const LineVisitor& visit) {
    const auto cannot = [&](const char* why) {
        return fail(ErrorKind::io, fmt::format("cannot read: {}", why), {}, file_.path().string());
    };
    const auto opened = TRY(open_file(file_));
    const int fd = opened.get();
    struct stat file {};
    if (::fstat(fd, &file) != 0) return cannot(std::strerror(errno));
    if (!S_ISREG(file.st_mode)) return cannot("not a regular file");
    const auto device = static_cast<std::uint64_t>(file.st_dev);
    if (file.st_ino != inode_ || device != device_ || file.st_size < static_cast<off_t>(offset_)) {
        offset_ = 0;
        lines_ = LineSplitter(limits_.line_bytes);
    }
    inode_ = file.st_ino;
    device_ = device;

    std::array<char, 1 << 16> buffer;
    for (std::size_t left = limits_.read_bytes; left > 0;) {
        const ssize_t n =
            ::pread(fd, buffer.data(), std::min(left, buffer.size()), static_cast<off_t>(offset_));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return cannot(std::strerror(errno));
        if (n == 0) return false;
        offset_ += static_cast<std::uint64_t>(n);
        left -= static_cast<std::size_t>(n);
        lines_.feed({buffer.data(), static_cast<std::size_t>(n)}, visit);
    }
    return true;
}

bool json_nests_deeper(std::string_view line, int depth) {
    int open = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (quoted) {
            if (c == '\\')
                ++i;
            else if (c == '"')
                quoted = false;
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            if (++open > depth) return true;
        } else if (c == '}' || c == ']') {
            --open;
        }
    }
    return false;
}

}  // namespace compat
