// The lines of a log that others made, without what was put around them on the way: the time that
// GitHub, GitLab or Jenkins writes in front of each, GitHub's "##[group]" and GitLab's
// "section_start:" lines, terminal escapes, a byte order mark. Offsets are those of the file.
// Not for text that nobody wrapped (Lines in text.h).
#pragma once

#include <string>
#include <string_view>

#include "parsers/text.h"

namespace compat::parsers {

// Views into the text, but for a line with escapes: that one lives until the next.
//   for (LogLines lines(text); lines.next();) use(lines.line(), lines.offset());
class LogLines {
  public:
    explicit LogLines(std::string_view text) : lines_(text) {}

    // Passes over the lines that a CI system wrote itself.
    bool next();
    [[nodiscard]] std::string_view line() const { return line_; }
    [[nodiscard]] size_t offset() const { return lines_.offset(); }
    // Where the next line begins.
    [[nodiscard]] size_t after() const { return lines_.after(); }

  private:
    Lines lines_;
    std::string_view line_;
    std::string plain_;
};

// Part of a log as it was printed: the text itself where nothing is to be taken off, else built in
// `plain`.
[[nodiscard]] std::string_view unwrapped(std::string_view text, std::string& plain);

// The file in "Running distributed/test_ops 1/2 ... [2024-05-01 12:34:56.123456]", with which the
// script that starts PyTorch's test files announces each, as "distributed/test_ops.py"; empty: it
// is no such line.
[[nodiscard]] std::string announced_file(std::string_view line);

}  // namespace compat::parsers
