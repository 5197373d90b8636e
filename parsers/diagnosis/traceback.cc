#include "parsers/diagnosis/traceback.h"

#include <array>

#include "parsers/diagnosis/place.h"
#include "parsers/text.h"
#include "runner/base/names.h"

namespace compat::parsers {

namespace {

constexpr std::string_view kGroupHeader = "  + Exception Group Traceback (most recent call last):";
constexpr std::string_view kGroupMargin = "  | ";
constexpr std::array<std::string_view, 2> kChainLinks{kDirectCause, kDuringHandling};
// Where reports leave frames out of a long traceback.
constexpr std::string_view kElision = "...";
// What an assertion of the suite's own ends in: what was asked for stands in its caller.
constexpr std::string_view kRaise = "raise ";
// Before the statement in which pytest's report of a frame ends, and what Python puts before
// source.
constexpr std::string_view kPytestMark = ">";
constexpr std::string_view kSourceIndent = "    ";
constexpr size_t kSourceBytes = 64 * 1024;
// unittest appends these to the traceback of a test whose output it buffered.
constexpr std::array<std::string_view, 2> kBuffered{"\nStdout:\n", "\nStderr:\n"};

// The part that tells of the exception raised last. A link counts only where Python prints one: a
// line of its own, and a traceback's header after it; else it is part of some message.
std::string_view last_of_chain(std::string_view text) {
    size_t start = 0;
    bool linked = false;
    for (Lines lines(text); lines.next();) {
        const std::string_view line = lines.line();
        if (linked && (line == kTracebackHeader || line == kGroupHeader)) start = lines.offset();
        if (!trimmed(line).empty()) linked = line == kChainLinks[0] || line == kChainLinks[1];
    }
    return text.substr(start);
}

constexpr std::string_view kFile = "  File \"";

// `  File "x.py", line 3, in f`; nothing for any other line.
std::optional<Frame> frame_of(std::string_view line) {
    constexpr std::string_view kLine = "\", line ";
    constexpr std::string_view kIn = ", in ";
    if (!line.starts_with(kFile)) return std::nullopt;
    line.remove_prefix(kFile.size());
    const size_t number = line.find(kLine);
    if (number == std::string_view::npos) return std::nullopt;
    const size_t function = line.find(kIn, number);
    if (function == std::string_view::npos) return std::nullopt;
    const size_t digits = number + kLine.size();
    const auto value = number_of(line.substr(digits, function - digits));
    if (!value || *value > 1'000'000'000) return std::nullopt;
    return Frame{valid_utf8(line.substr(0, number)), static_cast<int>(*value),
                 valid_utf8(line.substr(function + kIn.size()))};
}

// "pkg.Error", "f.<locals>.Error": what may stand before the colon of an exception's line.
bool is_type_name(std::string_view text) {
    if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
    for (const char c : text) {
        const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '<' || c == '>' ||
                          static_cast<unsigned char>(c) >= 0x80;
        if (!fits) return false;
    }
    return true;
}

std::string_view without_output(std::string_view text) {
    for (const std::string_view mark : kBuffered) text = text.substr(0, text.find(mark));
    return text;
}

void set_exception(Failure& failure, std::string_view text) {
    text = trimmed(without_output(text));
    const size_t first_end = std::min(text.find('\n'), text.size());
    const size_t colon = text.substr(0, first_end).find(": ");
    const std::string_view before = text.substr(0, std::min(colon, first_end));
    if (colon != std::string_view::npos && is_type_name(before)) {
        failure.type = valid_utf8(before);
        failure.message = valid_utf8(text.substr(colon + 2));
    } else if (first_end == text.size() && is_type_name(text)) {
        failure.type = valid_utf8(text);
    } else if (before.ends_with(':') && is_type_name(before.substr(0, before.size() - 1))) {
        // A message that begins with a newline.
        failure.type = valid_utf8(before.substr(0, before.size() - 1));
        failure.message = valid_utf8(trimmed(text.substr(first_end)));
    } else {
        failure.message = valid_utf8(text);
    }
}

// A group's own lines without their margin, up to its first member.
std::string without_margin(std::string_view text) {
    std::string out;
    for (Lines lines(text); lines.next();) {
        std::string_view line = lines.line();
        if (line == kGroupHeader)
            line = kTracebackHeader;
        else if (line.starts_with(kGroupMargin))
            line.remove_prefix(kGroupMargin.size());
        else
            break;
        out.append(line).push_back('\n');
    }
    return out;
}

}  // namespace

Failure parse_traceback(std::string_view text) {
    Failure failure;
    failure.traceback = valid_utf8(text);
    const std::string_view last = last_of_chain(text);
    bool in_frames = false;
    bool seen = false;
    for (Lines lines(last); lines.next();) {
        const std::string_view line = lines.line();
        if (!seen && line == kGroupHeader) {
            Failure group = parse_traceback(without_margin(last.substr(lines.offset())));
            group.traceback = std::move(failure.traceback);
            return group;
        }
        if (!seen && line == kTracebackHeader) {
            seen = in_frames = true;
        } else if (in_frames) {
            if (auto frame = frame_of(line)) {
                failure.frames.push_back(std::move(*frame));
            } else if (!line.empty() && line[0] != ' ' && line != kElision) {
                set_exception(failure, last.substr(lines.offset()));
                return failure;
            }
        }
    }
    if (!seen) {
        const std::string_view rest = trimmed(last);
        set_exception(failure, rest.substr(0, rest.find('\n')));
    }
    return failure;
}

bool raised_from_another(std::string_view traceback) {
    size_t at = traceback.find(kChainLinks[0]);
    while (at != std::string_view::npos && at > 0 && traceback[at - 1] != '\n')
        at = traceback.find(kChainLinks[0], at + 1);
    return at != std::string_view::npos;
}

namespace {

// The file of a frame's line: `  File "x.py", line 3, in f`, or pytest's "x.py:3: in f".
std::string_view file_of(std::string_view line) {
    if (line.starts_with(kFile)) {
        line.remove_prefix(kFile.size());
        return line.substr(0, line.find('"'));
    }
    const size_t in = line.find(": in ");
    if (in == std::string_view::npos || line[0] == ' ' || line.starts_with("E  ")) return {};
    const size_t colon = line.substr(0, in).rfind(':');
    const bool numbered = colon != std::string_view::npos &&
                          number_of(line.substr(colon + 1, in - colon - 1)).has_value();
    return numbered ? line.substr(0, colon) : std::string_view{};
}

}  // namespace

std::string_view failing_source(std::string_view traceback) {
    const std::string_view text = last_bytes(without_output(traceback), kSourceBytes);
    std::string_view asked;  // what the last statement, or its caller, says
    size_t begin = 0;
    size_t end = 0;
    bool inside = false;
    const auto leave = [&] {
        const std::string_view statement = trimmed(text.substr(begin, end - begin));
        if (asked.empty() || !statement.starts_with(kRaise)) asked = statement;
        begin = end;
    };
    for (Lines lines(text); lines.next();) {
        const std::string_view line = lines.line();
        if (const std::string_view file = file_of(line); !file.empty()) {
            inside = place_of(file).owner == Owner::suite;
            if (!inside) continue;
            leave();
            begin = end = lines.after();
        } else if (line.starts_with(kPytestMark)) {
            leave();
            inside = true;
            begin = lines.offset() + kPytestMark.size();
            end = lines.after();
        } else if (inside && line.starts_with(kSourceIndent)) {
            end = lines.after();
        } else {
            inside = false;
            if (line != kChainLinks[0] && line != kChainLinks[1]) continue;
            leave();
            asked = {};
        }
    }
    leave();
    return asked;
}

}  // namespace compat::parsers
