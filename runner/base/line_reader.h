// Lines of a file that a test may have damaged, replaced or filled: regular files only, lines of a
// bounded length, a bounded number of bytes at a time, so that no content costs more memory or time
// than these bounds. Not for what the lines mean: whoever reads them says that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "runner/base/error.h"

namespace compat {

struct LineLimits {
    std::size_t line_bytes = 1 << 20;  // what a line has beyond is cut
    std::size_t read_bytes = 4 << 20;  // of one call of LineReader::read
};

struct Line {
    std::string_view text;  // without its newline; valid during the call
    std::uint64_t offset = 0;
    std::uint64_t cut_bytes = 0;  // of its end, that `text` lacks
    bool complete = true;         // false: the input ends without a newline
};

using LineVisitor = std::function<void(const Line&)>;

// Splits bytes that arrive in pieces. Does no I/O.
class LineSplitter {
  public:
    explicit LineSplitter(std::size_t line_bytes = LineLimits{}.line_bytes)
        : line_bytes_(line_bytes) {}
    // Visits each line that `bytes` completes.
    void feed(std::string_view bytes, const LineVisitor& visit);
    // At the end of the input: visits the line that has no newline, where there is one.
    void finish(const LineVisitor& visit);
    [[nodiscard]] std::uint64_t cut_lines() const { return cut_lines_; }

  private:
    void keep(std::string_view piece);
    void visit_line(std::string_view text, bool complete, const LineVisitor& visit);

    std::size_t line_bytes_;
    std::string partial_;          // the head of the line that is not complete yet
    std::uint64_t cut_bytes_ = 0;  // of that line
    std::uint64_t cut_lines_ = 0;
    std::uint64_t offset_ = 0;  // of that line
};

// Reads a file that may still grow.
class LineReader {
  public:
    explicit LineReader(std::filesystem::path path, LineLimits limits = {})
        : path_(std::move(path)), limits_(limits), lines_(limits.line_bytes) {}

    // Visits what was added since the last call, at most `read_bytes` of it. True: there may be
    // more to read now. A file that is another one now, or shorter, is read from its beginning.
    // An error: there is no such file yet, it cannot be read, or it is not a regular file.
    [[nodiscard]] Expected<bool> read(const LineVisitor& visit);
    // Nothing will be added: visits the line that has no newline, where there is one.
    void finish(const LineVisitor& visit) { lines_.finish(visit); }
    [[nodiscard]] std::uint64_t cut_lines() const { return lines_.cut_lines(); }

  private:
    std::filesystem::path path_;
    LineLimits limits_;
    LineSplitter lines_;
    std::uint64_t offset_ = 0;
    std::uint64_t device_ = 0, inode_ = 0;
};

// Our formats nest 4 deep. A parser needs up to a hundred bytes for each bracket that it opens, so
// a line of brackets is refused before it is parsed. Also for a line that was cut.
inline constexpr int kJsonDepth = 64;
[[nodiscard]] bool json_nests_deeper(std::string_view line, int depth = kJsonDepth);

}  // namespace compat
