#include "parsers/import/lines.h"

#include <algorithm>
#include <array>

#include "parsers/text.h"

namespace compat::parsers {

namespace {

constexpr char kEscape = '\x1b';
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// A "0" stands for any digit, "?" for any character.
constexpr std::array<std::string_view, 5> kTimes{
    "0000-00-00T00:00:00.0000000Z ",     // GitHub
    "0000-00-00T00:00:00.000000Z 00? ",  // GitLab: the stream, "O" or "E"
    "[0000-00-00T00:00:00.000Z] ",       // Jenkins, of a pipeline
    "00:00:00  ",                        // Jenkins, of a freestyle job
    "00:00:00 ",                         // the same, in its pages
};
// Of lines that are the CI system's own. GitLab's may follow one another on a line.
constexpr std::array<std::string_view, 3> kOwnLines{"##[", "section_start:", "section_end:"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// How much of the line the form takes; 0 where it does not fit. The blank at its end may be gone,
// and GitLab has "+" there in a line that goes on with the one before.
size_t length_of(std::string_view line, std::string_view form) {
    if (line.size() + 1 < form.size()) return 0;
    const size_t size = form.size() - 1;
    const bool fits = std::equal(
        form.begin(), form.begin() + size, line.begin(),
        [](char like, char c) { return like == '0' ? is_digit(c) : like == '?' || c == like; });
    if (!fits) return 0;
    if (line.size() == size) return size;
    const bool goes_on = form[size - 1] == '?' && line[size] == '+';
    return line[size] == ' ' || goes_on ? size + 1 : 0;
}

// `gh run view --log` writes "job\tstep\t" in front of the time.
size_t job_prefix(std::string_view line) {
    constexpr size_t kLongest = 400;
    const std::string_view head = line.substr(0, kLongest);
    const size_t job = head.find('\t');
    if (job == std::string_view::npos) return 0;
    const size_t step = head.find('\t', job + 1);
    if (step == std::string_view::npos) return 0;
    const size_t time = length_of(line.substr(step + 1), kTimes[0]);
    return time == 0 ? 0 : step + 1 + time;
}

}  // namespace

size_t time_prefix(std::string_view line) {
    if (line.empty()) return 0;
    if (is_digit(line[0]) || line[0] == '[')
        for (const std::string_view form : kTimes)
            if (const size_t length = length_of(line, form)) return length;
    return job_prefix(line);
}

bool LogLines::next() {
    do {
        if (next_ >= text_.size()) return false;
        offset_ = next_;
        const size_t stop = std::min(text_.find('\n', offset_), text_.size());
        next_ = std::min(stop + 1, text_.size());
        line_ = text_.substr(offset_, stop - offset_);
        if (line_.ends_with('\r')) line_.remove_suffix(1);
        if (offset_ == 0 && line_.starts_with(kByteOrderMark))
            line_.remove_prefix(kByteOrderMark.size());
        line_.remove_prefix(time_prefix(line_));
        if (line_.find(kEscape) == std::string_view::npos) continue;
        plain_ = without_ansi(line_);
        line_ = plain_;
    } while (std::any_of(kOwnLines.begin(), kOwnLines.end(),
                         [&](std::string_view own) { return line_.starts_with(own); }));
    return true;
}

std::string_view unwrapped(std::string_view text, std::string& plain) {
    plain.clear();
    bool same = true;
    for (LogLines lines(text); lines.next();) {
        same = same && lines.line().data() == text.data() + lines.offset();
        plain.append(lines.line()).push_back('\n');
    }
    return same ? text : std::string_view(plain);
}

}  // namespace compat::parsers
