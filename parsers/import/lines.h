// The lines of a log that others made, without what was put around them on the way: the time that
// GitHub, GitLab or Jenkins writes in front of each, GitHub's "##[group]" and GitLab's
// "section_start:" lines, terminal escapes, a byte order mark. Offsets are those of the file.
// Not for text that nobody wrapped (Lines in text.h).
#pragma once

#include <string>
#include <string_view>

namespace compat::parsers {

// Views into the text, but for a line with escapes: that one lives until the next.
//   for (LogLines lines(text); lines.next();) use(lines.line(), lines.offset());
class LogLines {
  public:
    explicit LogLines(std::string_view text, size_t from = 0) : text_(text), next_(from) {}

    // Passes over the lines that a CI system wrote itself.
    bool next();
    [[nodiscard]] std::string_view line() const { return line_; }
    [[nodiscard]] size_t offset() const { return offset_; }
    // Where the next line begins.
    [[nodiscard]] size_t after() const { return next_; }

  private:
    std::string_view text_;
    std::string_view line_;
    std::string plain_;
    size_t offset_ = 0;
    size_t next_ = 0;
};

// Part of a log as it was printed: the text itself where nothing is to be taken off, else built in
// `plain`.
[[nodiscard]] std::string_view unwrapped(std::string_view text, std::string& plain);

// Where a line's own text begins, after the time that a CI system wrote:
// 29 of "2024-05-01T12:34:56.1234567Z ok".
[[nodiscard]] size_t time_prefix(std::string_view line);

}  // namespace compat::parsers
