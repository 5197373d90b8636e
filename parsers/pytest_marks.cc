#include "parsers/pytest_marks.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "parsers/closing.h"
#include "parsers/import/lines.h"
#include "parsers/pytest_line.h"
#include "parsers/text.h"

namespace compat::parsers {

namespace {

constexpr std::string_view kStart = "test session starts";
// Behind a test's name; with the rule that follows.
constexpr std::string_view kStartInside = " test session starts =";
constexpr std::string_view kSummaryTitle = "short test summary info";
// A line of these is as wide as a terminal.
constexpr size_t kWidest = 2000;
// How many sessions may have broken off within one another.
constexpr size_t kDeepestSessions = 64;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// By the ends of a line whether it may be one: most are not, and need no other look.
bool may_be_mark(std::string_view line) {
    if (line.empty() || line.size() > kWidest) return false;
    const char first = line.front();
    return first == '=' || first == '\x1b' || is_digit(first) || line.back() == '=' ||
           line.starts_with("no tests ran") || line.starts_with("\xEF\xBB\xBF") ||
           line.back() == 'm';
}

// "= text =": its text left no room for more of the rule.
bool is_overfull(std::string_view line) {
    return line.size() > 4 && line[1] == ' ' && line[line.size() - 2] == ' ';
}

std::optional<PytestMark> mark_of(std::string_view line) {
    PytestMark mark;
    if (line.front() == '=') {
        mark.width = columns_of(line);
        mark.overfull = is_overfull(line);
        const std::string_view text = pytest_ruled(line, '=');
        if (text == kStart) return mark;
        mark.kind = PytestMark::Kind::summary;
        if (text == kSummaryTitle) return mark;
        mark.kind = PytestMark::Kind::closing;
        if (text.find(" in ") != std::string_view::npos && pytest_closing_of(line)) return mark;
        return std::nullopt;
    }
    if (const size_t inside = line.find(kStartInside);
        inside != std::string_view::npos && line.ends_with('=')) {
        const size_t before = line.find_last_not_of('=', inside - 1);
        mark.width = columns_of(line.substr(before + 1));
        if (before + 1 < inside && pytest_ruled(line.substr(before + 1), '=') == kStart)
            return mark;
    }
    mark.kind = PytestMark::Kind::plain;
    if ((is_digit(line.front()) || line.front() == 'n') &&
        line.find(" in ") != std::string_view::npos && pytest_closing_of(line))
        return mark;
    return std::nullopt;
}

void pair_up(std::vector<PytestMark>& marks) {
    std::vector<std::uint32_t> open;
    for (std::uint32_t i = 0; i < marks.size(); ++i) {
        if (marks[i].kind == PytestMark::Kind::start) open.push_back(i);
        if (marks[i].kind != PytestMark::Kind::closing) continue;
        const auto deepest =
            open.begin() +
            static_cast<std::ptrdiff_t>(open.size() - std::min(open.size(), kDeepestSessions));
        for (auto at = open.end(); at != deepest;) {
            --at;
            if (!fills_terminal(marks[i], marks[*at].width)) continue;
            marks[*at].pair = i;
            marks[i].pair = *at;
            open.erase(at, open.end());
            break;
        }
    }
}

}  // namespace

std::uint32_t columns_of(std::string_view line) {
    return static_cast<std::uint32_t>(std::count_if(line.begin(), line.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    }));
}

bool fills_terminal(std::string_view line, std::uint32_t width) {
    const std::uint32_t columns = columns_of(line);
    return columns == width || (columns > width && is_overfull(line));
}

std::vector<PytestMark> pytest_marks(std::string_view text) {
    std::vector<PytestMark> marks;
    for (size_t at = 0, next = 0; at < text.size(); at = next) {
        const void* const newline = std::memchr(text.data() + at, '\n', text.size() - at);
        const size_t stop =
            newline ? static_cast<size_t>(static_cast<const char*>(newline) - text.data())
                    : text.size();
        next = std::min(stop + 1, text.size());
        std::string_view raw = text.substr(at, stop - at);
        if (raw.ends_with('\r')) raw.remove_suffix(1);
        if (!may_be_mark(raw.substr(time_prefix(raw)))) continue;
        LogLines lines(text.substr(0, next), at);
        if (!lines.next() || lines.line().empty()) continue;
        if (auto mark = mark_of(lines.line())) {
            mark->offset = at;
            mark->after = next;
            marks.push_back(*mark);
        }
    }
    pair_up(marks);
    return marks;
}

Closing closing_at(std::string_view text, const PytestMark& mark) {
    LogLines lines(text.substr(0, mark.after), mark.offset);
    if (!lines.next()) return {};
    return pytest_closing_of(lines.line()).value_or(Closing{});
}

}  // namespace compat::parsers
