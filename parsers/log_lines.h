// The lines of a log that others made, without what was put around them on the way: the time that
// GitHub writes in front of each, terminal escapes, a byte order mark. Offsets are those of the
// file. Not for text of our own, which has none of these (Lines in text.h).
#pragma once

#include <string>
#include <string_view>

namespace compat::parsers {

// Views into the text, but for a line with escapes: that one lives until the next.
class LogLines {
  public:
    // `wrapped`: whether there may be anything to take off.
    LogLines(std::string_view text, size_t from, bool wrapped);

    bool next();
    [[nodiscard]] std::string_view line() const { return line_; }
    [[nodiscard]] size_t offset() const { return offset_; }
    [[nodiscard]] size_t after() const { return next_; }

  private:
    void unwrap();
    [[nodiscard]] bool has_escape();

    std::string_view text_;
    std::string_view line_;
    std::string plain_;
    size_t offset_ = 0;
    size_t next_ = 0;
    size_t escape_ = 0;   // the next one, or the end of what was searched for it
    bool found_ = false;  // which of the two
    bool wrapped_;
};

// Part of a log as it was printed: the text itself where nothing is to be taken off, else built in
// `plain`.
[[nodiscard]] std::string_view unwrapped(std::string_view text, std::string& plain);

// Where a line's own text begins, after GitHub's time: 29 of "2024-05-01T12:34:56.1234567Z ok".
[[nodiscard]] size_t time_prefix(std::string_view line);

}  // namespace compat::parsers
