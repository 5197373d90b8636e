// Small tools for reading text that may be anything: lines with their offsets, valid UTF-8.
// Not for meaning: what a line says is each dialect's own business.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/record.h"

namespace compat::parsers {

// The lines of a text, without their ends ("\n" or "\r\n"). Views into the text; nothing is copied.
//   for (Lines lines(text); lines.next();) use(lines.line(), lines.offset());
class Lines {
  public:
    explicit Lines(std::string_view text, size_t from = 0) : text_(text), next_(from) {}

    bool next() {
        if (next_ >= text_.size()) return false;
        offset_ = next_;
        const size_t end = text_.find('\n', offset_);
        complete_ = end != std::string_view::npos;
        const size_t stop = complete_ ? end : text_.size();
        next_ = complete_ ? end + 1 : text_.size();
        line_ = text_.substr(offset_, stop - offset_);
        if (line_.ends_with('\r')) line_.remove_suffix(1);
        return true;
    }
    [[nodiscard]] std::string_view line() const { return line_; }
    [[nodiscard]] size_t offset() const { return offset_; }
    // Where the next line begins.
    [[nodiscard]] size_t after() const { return next_; }
    // False for a last line that no newline ends.
    [[nodiscard]] bool complete() const { return complete_; }

  private:
    std::string_view text_;
    std::string_view line_;
    size_t offset_ = 0;
    size_t next_ = 0;
    bool complete_ = false;
};

// Without blanks (space, tab, CR, LF) at both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text);

// The text with every byte that is no part of valid UTF-8 as U+FFFD: records hold UTF-8 only.
[[nodiscard]] std::string valid_utf8(std::string_view bytes);
void append_valid_utf8(std::string& to, std::string_view bytes);

// The text without terminal escapes (colours, cursor moves).
[[nodiscard]] std::string without_ansi(std::string_view text);

// A decimal number without a sign; empty where `text` is anything else or does not fit.
[[nodiscard]] std::optional<std::int64_t> number_of(std::string_view text);

// With this begins the message of a diagnostic by which a file does not add up: its own totals are
// not those of its tests.
inline constexpr std::string_view kTotalsDiffer = "totals differ: ";

// With this begins the message of a diagnostic where a text may be read in more than one way.
inline constexpr std::string_view kAmbiguous = "ambiguous: ";

// In the message of a diagnostic that counts lines of events without a right MAC or number.
inline constexpr std::string_view kForged = "that the harness did not write";

// With this begins the message of a diagnostic where an attempt's files contradict each other: one
// of them was not written as it stands by the harness or the framework. The counts do not add up
// then (exit code 3).
inline constexpr std::string_view kContradiction = "contradiction: ";

// Collects diagnostics of one file; past `kMost` they are only counted, so that garbage of any size
// stays readable. Totals that differ decide what becomes of a run: they are counted for themselves,
// and the count of those left out begins as they do.
class Diagnoser {
  public:
    static constexpr int kMost = 100;
    Diagnoser(std::string_view file, std::vector<Diagnostic>& into) : file_(file), into_(into) {}
    ~Diagnoser();
    Diagnoser(const Diagnoser&) = delete;
    Diagnoser& operator=(const Diagnoser&) = delete;

    void add(size_t offset, std::string_view message);
    void totals_differ(size_t offset, std::string_view what);

  private:
    struct Kind {
        std::string_view before;  // with this a message begins
        std::int64_t seen = 0;
        size_t last_offset = 0;
    };
    void add_to(Kind& kind, size_t offset, std::string_view message);

    std::string_view file_;
    std::vector<Diagnostic>& into_;
    Kind others_{""}, totals_{kTotalsDiffer};
};

}  // namespace compat::parsers
