#include "parsers/diagnosis/traceback.h"

#include <re2/re2.h>

#include "parsers/diagnosis/place.h"
#include "parsers/text.h"
#include "runner/base/names.h"

namespace compat::parsers {

namespace {

constexpr std::string_view kGroupHeader = "  + Exception Group Traceback (most recent call last):";
constexpr std::string_view kGroupMargin = "  | ";
// What an assertion of the suite's own ends in: what was asked for stands in its caller.
constexpr std::string_view kRaise = "raise ";
// Before the statement in which pytest's report of a frame ends, and what Python puts before
// source.
constexpr std::string_view kPytestMark = ">";
constexpr std::string_view kSourceIndent = "    ";
constexpr size_t kSourceBytes = 64 * 1024;

bool is_chain_link(std::string_view line) { return line == kDirectCause || line == kDuringHandling; }

// The part that tells of the exception raised last. A link counts only where Python prints one: a
// line of its own, and a traceback's header after it; else it is part of some message.
std::string_view last_of_chain(std::string_view text) {
    size_t start = 0;
    bool linked = false;
    for (Lines lines(text); lines.next();) {
        const std::string_view line = lines.line();
        if (linked && (line == kTracebackHeader || line == kGroupHeader)) start = lines.offset();
        if (!trimmed(line).empty()) linked = is_chain_link(line);
    }
    return text.substr(start);
}

// unittest appends these to the traceback of a test whose output it buffered.
std::string_view without_output(std::string_view text) {
    for (const std::string_view mark : {"\nStdout:\n", "\nStderr:\n"})
        text = text.substr(0, text.find(mark));
    return text;
}

// "pkg.Error", "f.<locals>.Error: message", or a message that begins with a newline.
void set_exception(Failure& failure, std::string_view text) {
    static const RE2 exception(
        R"((?s)([A-Za-z_.<>\x80-\xff][\w.<>\x80-\xff]*)(?:: (.*)|:?|:\n(.*)))", RE2::Latin1);
    text = trimmed(without_output(text));
    re2::StringPiece type, message, after_newline;
    if (!RE2::FullMatch(text, exception, &type, &message, &after_newline)) message = text;
    failure.type = valid_utf8(type);
    failure.message = valid_utf8(message) + valid_utf8(trimmed(after_newline));
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

// The file of a frame's line: `  File "x.py", line 3, in f`, or pytest's "x.py:3: in f".
std::string_view file_of(std::string_view line) {
    static const RE2 frame(R"re(\A(?:  File "([^"]*)|([^ ].*?):\d+: in ))re", RE2::Latin1);
    re2::StringPiece python, pytest;
    const bool source = line.starts_with(kSourceIndent) || line.starts_with("E  ");
    if (!source) RE2::PartialMatch(line, frame, &python, &pytest);
    return python.empty() ? pytest : python;
}

}  // namespace

std::optional<Frame> frame_of(std::string_view line) {
    static const RE2 pattern(R"re(  File "([^"]*)", line (\d{1,9}|[?]{3}),? in (.*))re",
                             RE2::Latin1);
    std::string file, number, function;
    if (!line.starts_with("  File \"") || !RE2::FullMatch(line, pattern, &file, &number, &function))
        return std::nullopt;
    return Frame{valid_utf8(file), static_cast<int>(number_of(number).value_or(0)),
                 valid_utf8(function)};
}

Failure parse_traceback(std::string_view text) {
    Failure failure;
    failure.traceback = valid_utf8(text);
    const std::string_view last = last_of_chain(text);
    bool in_frames = false;
    for (Lines lines(last); lines.next();) {
        const std::string_view line = lines.line();
        if (!in_frames && line == kGroupHeader) {
            Failure group = parse_traceback(without_margin(last.substr(lines.offset())));
            group.traceback = std::move(failure.traceback);
            return group;
        }
        if (!in_frames) {
            in_frames = line == kTracebackHeader;
        } else if (auto frame = frame_of(line)) {
            failure.frames.push_back(std::move(*frame));
        } else if (!line.empty() && line[0] != ' ' && line != kElision) {
            set_exception(failure, last.substr(lines.offset()));
            return failure;
        }
    }
    const std::string_view rest = trimmed(last);
    if (!in_frames) set_exception(failure, rest.substr(0, rest.find('\n')));
    return failure;
}

bool raised_from_another(std::string_view traceback) {
    static const std::string link = "\n" + std::string(kDirectCause);
    return traceback.starts_with(kDirectCause) || traceback.find(link) != traceback.npos;
}

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
            if (!is_chain_link(line)) continue;
            leave();
            asked = {};
        }
    }
    leave();
    return asked;
}

}  // namespace compat::parsers
