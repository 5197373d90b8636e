#include "reports/markdown/text.h"

#include <fmt/format.h>

#include <algorithm>

#include "runner/base/names.h"
#include "runner/base/text.h"

namespace compat::reports {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD
constexpr std::string_view kEllipsis = "\xe2\x80\xa6";     // …
// Replaces a bar after a backslash: in tables, Markdown readers disagree on that pair.
constexpr std::string_view kWideBar = "\xef\xbd\x9c";  // ｜

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Length of a terminal's escape sequence at the start of `text`, which begins with ESC.
size_t escape_length(std::string_view text) {
    if (text.size() < 2) return 1;
    if (text[1] == '[') {  // CSI: parameters, then one final byte
        size_t i = 2;
        while (i < text.size() && text[i] >= 0x20 && text[i] < 0x40) ++i;
        return std::min(i + 1, text.size());
    }
    if (text[1] == ']') {  // OSC: up to BEL or ESC backslash
        for (size_t i = 2; i < text.size() && text[i] != '\n'; ++i) {
            if (text[i] == '\a') return i + 1;
            if (text[i] == '\x1b') return std::min(i + 2, text.size());
        }
        return 2;
    }
    return 2;
}

size_t longest_run(std::string_view text, char wanted) {
    size_t longest = 0;
    size_t length = 0;
    for (const char c : text) {
        length = c == wanted ? length + 1 : 0;
        longest = std::max(longest, length);
    }
    return longest;
}

std::string cut(const std::string& text, size_t max_chars) {
    size_t chars = 0;
    for (size_t i = 0; i < text.size(); ++i) {
        if (is_continuation(text[i])) continue;
        if (chars == max_chars) return text.substr(0, i) + std::string(kEllipsis);
        ++chars;
    }
    return text;
}

}  // namespace

std::string printable(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const char c = text.front();
        size_t length = 1;
        if (c == '\x1b') {
            length = escape_length(text);
        } else if (c == '\r') {
            if (text.size() < 2 || text[1] != '\n') out += '\n';
        } else if (c == '\n' || c == '\t') {
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            out += kReplacement;
        } else if (length = utf8_length(text); length == 0) {
            out += kReplacement;
            length = 1;
        } else if (deceptive_character(text).bytes > 0) {
            out += kReplacement;
        } else {
            out += text.substr(0, length);
        }
        text.remove_prefix(length);
    }
    return out;
}

std::string code(std::string_view text, size_t max_chars) {
    std::string line = printable(text);
    std::replace(line.begin(), line.end(), '\n', ' ');
    std::replace(line.begin(), line.end(), '\t', ' ');
    line = cut(line, max_chars);
    if (line.find_first_not_of(' ') == std::string::npos) return {};
    const std::string ticks(longest_run(line, '`') + 1, '`');
    const bool padded = line.front() == '`' || line.back() == '`' || line.front() == ' ';
    return padded ? fmt::format("{0} {1} {0}", ticks, line) : fmt::format("{0}{1}{0}", ticks, line);
}

std::string cell(std::string_view markdown) {
    std::string out;
    for (const char c : markdown) {
        if (c != '|')
            out += c;
        else if (out.ends_with('\\'))
            out += kWideBar;
        else
            out += "\\|";
    }
    return out;
}

std::string linked_code(std::string_view text, std::string_view url) {
    if (url.empty()) return code(text);
    // The parts of a URL are encoded where it is made; a base from outside may still hold these.
    constexpr std::string_view kEndsALink = " \t\r\n()<>[]`|\\\"";
    std::string target;
    for (const char c : url) {
        if (kEndsALink.find(c) != std::string_view::npos || static_cast<unsigned char>(c) < 0x20)
            target += fmt::format("%{:02X}", static_cast<unsigned char>(c));
        else
            target += c;
    }
    return fmt::format("[{}]({})", code(text), target);
}

std::string prose(std::string_view text) {
    constexpr std::string_view kMarks = "\\*_[]()<>&#!|~@";
    std::string line = printable(text);
    std::replace(line.begin(), line.end(), '\n', ' ');
    std::string out;
    for (size_t at = 0; at < line.size();) {
        const size_t open = std::min(line.find('`', at), line.size());
        const size_t close = line.find('`', std::min(open + 1, line.size()));
        for (const char c : line.substr(at, open - at)) {
            if (kMarks.find(c) != std::string_view::npos) out += '\\';
            out += c;
        }
        if (open == line.size()) break;
        if (close == std::string::npos) {  // alone it opens nothing
            out += "\\`";
            at = open + 1;
            continue;
        }
        out += code(line.substr(open + 1, close - open - 1));
        at = close + 1;
    }
    return out;
}

std::string html(std::string_view text) {
    std::string out;
    for (const char c : printable(text)) switch (c) {
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '&':
                out += "&amp;";
                break;
            case '"':
                out += "&quot;";
                break;
            case '\n':
                out += ' ';
                break;
            default:
                out += c;
        }
    return out;
}

std::string folded(std::string_view summary, std::string_view body) {
    while (body.starts_with('\n')) body.remove_prefix(1);
    return fmt::format("<details><summary>{}</summary>\n\n{}\n</details>\n\n", summary, body);
}

std::string fenced(std::string_view language, std::string_view text, size_t max_bytes) {
    std::string body = printable(text);
    while (body.ends_with('\n')) body.pop_back();
    if (body.size() > max_bytes) {
        // A third for the head, the rest for the end, which has the error.
        const size_t head = body.rfind('\n', max_bytes / 3);
        const size_t begin = head == std::string::npos ? 0 : head + 1;
        const size_t end =
            std::min(body.find('\n', body.size() - (max_bytes - max_bytes / 3)), body.size());
        const std::string_view gone = std::string_view(body).substr(begin, end - begin);
        body = fmt::format("{}{} {} lines ({} bytes) left out here {}{}", body.substr(0, begin),
                           kEllipsis, std::count(gone.begin(), gone.end(), '\n') + 1, gone.size(),
                           kEllipsis, body.substr(end));
    }
    const std::string fence(std::max<size_t>(3, longest_run(body, '`') + 1), '`');
    return fmt::format("{}{}\n{}\n{}\n", fence, language, body, fence);
}

}  // namespace compat::reports
