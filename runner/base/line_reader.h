// Reads lines of a file that a test may have damaged, replaced or filled. Bounds the length of a
// line and the bytes of a call, so that no content costs more memory or time. Reads regular files
// only. Not for the meaning of the lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "runner/base/error.h"
#include "runner/base/files/file_below.h"

namespace compat {

struct LineLimits {
    std::size_t line_bytes = 1 << 20;  // the rest of a longer line is cut
    std::size_t read_bytes = 4 << 20;  // per call of LineReader::read
};

struct Line {
    std::string_view text;  // without its newline; valid during the call
    std::uint64_t offset = 0;
    std::uint64_t cut_bytes = 0;  // removed from its end
    bool complete = true;         // false: the input ends without a newline
    std::string_view written{};   // as it is in the file, where `text` was changed; else empty
};

using LineVisitor = std::function<void(const Line&)>;

// Splits bytes that arrive in pieces. Does no I/O.
class LineSplitter {
  public:
    explicit LineSplitter(std::size_t line_bytes = LineLimits{}.line_bytes)
        : line_bytes_(line_bytes) {}
    // Visits each line that `bytes` completes.
    void feed(std::string_view bytes, const LineVisitor& visit);
    // At the end of the input: visits a last line without a newline.
    void finish(const LineVisitor& visit);
    [[nodiscard]] std::uint64_t cut_lines() const { return cut_lines_; }

  private:
    void keep(std::string_view piece);
    void visit_line(std::string_view text, bool complete, const LineVisitor& visit);

    std::size_t line_bytes_;
    std::string partial_;          // the head of the incomplete line
    std::uint64_t cut_bytes_ = 0;  // of that line
    std::uint64_t cut_lines_ = 0;
    std::uint64_t offset_ = 0;  // of that line
};

// Reads a file that may still grow.
class LineReader {
  public:
    explicit LineReader(FileBelow file, LineLimits limits = {})
        : file_(std::move(file)), limits_(limits), lines_(limits.line_bytes) {}

    // Visits lines added since the last call, at most `read_bytes`. True: there may be more now.
    // Starts again at the beginning of a replaced or shortened file.
    // An error: the file is missing, unreadable or not a regular file.
    [[nodiscard]] Expected<bool> read(const LineVisitor& visit);
    // At the end of the file: visits a last line without a newline.
    void finish(const LineVisitor& visit) { lines_.finish(visit); }
    [[nodiscard]] std::uint64_t cut_lines() const { return lines_.cut_lines(); }

  private:
    FileBelow file_;
    LineLimits limits_;
    LineSplitter lines_;
    std::uint64_t offset_ = 0;
    std::uint64_t device_ = 0, inode_ = 0;
};

// Our formats nest 4 deep. A parser needs up to a hundred bytes per open bracket, so a line of
// brackets is rejected before parsing. Works on a cut line too.
inline constexpr int kJsonDepth = 64;
[[nodiscard]] bool json_nests_deeper(std::string_view line, int depth = kJsonDepth);

}  // namespace compat
