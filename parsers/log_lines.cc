#include "parsers/log_lines.h"

#include <algorithm>

#include "parsers/text.h"

namespace compat::parsers {

namespace {
constexpr char kEscape = '\x1b';
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
// A digit stands for any.
constexpr std::string_view kTime = "0000-00-00T00:00:00.0000000Z";
}  // namespace

size_t time_prefix(std::string_view line) {
    if (line.size() < kTime.size() || line[4] != '-' || line[10] != 'T') return 0;
    const bool fits = std::equal(kTime.begin(), kTime.end(), line.begin(), [](char like, char c) {
        return like == '0' ? c >= '0' && c <= '9' : c == like;
    });
    if (!fits) return 0;
    return kTime.size() + (line.size() > kTime.size() && line[kTime.size()] == ' ');
}

LogLines::LogLines(std::string_view text, size_t from, bool wrapped)
    : text_(text), next_(from), escape_(from), wrapped_(wrapped) {}

bool LogLines::next() {
    if (next_ >= text_.size()) return false;
    offset_ = next_;
    const size_t stop = std::min(text_.find('\n', offset_), text_.size());
    next_ = std::min(stop + 1, text_.size());
    line_ = text_.substr(offset_, stop - offset_);
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    if (wrapped_) unwrap();
    return true;
}

void LogLines::unwrap() {
    if (offset_ == 0 && line_.starts_with(kByteOrderMark))
        line_.remove_prefix(kByteOrderMark.size());
    line_.remove_prefix(time_prefix(line_));
    if (!has_escape()) return;
    plain_ = without_ansi(line_);
    line_ = plain_;
}

// Looked for in pieces: once over the text, and not far ahead of what is read.
bool LogLines::has_escape() {
    constexpr size_t kPiece = 1 << 16;
    while (escape_ < next_ && (!found_ || escape_ < offset_)) {
        const size_t from = std::max(escape_, offset_);
        const size_t to = std::min(std::max(next_, from + kPiece), text_.size());
        const size_t at = text_.substr(from, to - from).find(kEscape);
        found_ = at != std::string_view::npos;
        escape_ = found_ ? from + at : to;
    }
    return found_ && escape_ < next_;
}

std::string_view unwrapped(std::string_view text, std::string& plain) {
    if (time_prefix(text) == 0 && text.find(kEscape) == std::string_view::npos) return text;
    plain.clear();
    for (LogLines lines(text, 0, true); lines.next();) plain.append(lines.line()).push_back('\n');
    return plain;
}

}  // namespace compat::parsers
