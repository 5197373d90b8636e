#include "parsers/import/lines.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "parsers/pattern.h"

namespace compat::parsers {

namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
// Lines of the CI system itself begin with these. GitLab's may follow one another on a line.
constexpr std::array<std::string_view, 3> kOwnLines{"##[", "section_start:", "section_end:"};

// Returns the line behind the time: GitHub's, in front of which `gh run view --log` writes
// "job\tstep\t"; GitLab's with its stream, where a "+" goes on with the line before; Jenkins's, of
// a pipeline and of a freestyle job. A blank at the line's end may be gone.
std::string_view without_time(std::string_view line) {
    static const Pattern time(
        R"((?:(?:[^\t]{1,200}\t[^\t]{1,200}\t)?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z|)"
        R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z \d\d[A-Z]|)"
        R"(\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\]|\d\d:\d\d:\d\d ?)(?: (.*))?|)"
        R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z \d\d[A-Z]\+(.*))");
    const bool may_be = !line.empty() && (std::isdigit(static_cast<unsigned char>(line[0])) != 0 ||
                                          line[0] == '[' || line.find('\t') < line.size());
    const auto found = may_be ? time.match(line) : std::nullopt;
    if (!found) return line;
    return (*found)[2].empty() ? (*found)[1] : (*found)[2];
}

}  // namespace

bool LogLines::next() {
    do {
        if (!lines_.next()) return false;
        line_ = lines_.line();
        if (offset() == 0 && line_.starts_with(kByteOrderMark))
            line_.remove_prefix(kByteOrderMark.size());
        line_ = without_time(line_);
        if (line_.find('\x1b') == std::string_view::npos) continue;
        plain_ = without_ansi(line_);
        line_ = plain_;
    } while (std::any_of(kOwnLines.begin(), kOwnLines.end(),
                         [&](std::string_view own) { return line_.starts_with(own); }));
    return true;
}

std::string_view unwrapped(std::string_view text, std::string& plain) {
    plain.clear();
    bool same = true;
    size_t after = 0;
    for (LogLines lines(text); lines.next(); after = lines.after()) {
        same = same && lines.offset() == after && lines.line().data() == text.data() + after;
        plain.append(lines.line()).push_back('\n');
    }
    return same && after == text.size() ? text : std::string_view(plain);
}

std::string announced_file(std::string_view line) {
    static const Pattern announced(R"(Running (\S+) (?:.* )?\.\.\. \[.*\])");
    const auto found = line.starts_with("Running ") ? announced.match(line) : std::nullopt;
    return found ? valid_utf8((*found)[1]) + ".py" : std::string();
}

}  // namespace compat::parsers
