#include "parsers/diagnosis/traceback.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "parsers/diagnosis/place.h"
#include "parsers/text.h"
#include "runner/base/names.h"

namespace compat::parsers {

namespace {

constexpr std::string_view kGroupHeader = "  + Exception Group Traceback (most recent call last):";
constexpr std::string_view kGroupMargin = "  | ";
// An assertion of the suite's own ends in this: its caller has what was asked for.
constexpr std::string_view kRaise = "raise ";
// Before the statement in which pytest's report of a frame ends, and what Python puts before
// source.
constexpr std::string_view kPytestMark = ">";
constexpr std::string_view kSourceIndent = "    ";
// Where a report leaves frames out of a long traceback.
constexpr std::string_view kElision = "...";
constexpr size_t kLookedAt = 64 * 1024;  // bytes, from a text's end

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
    const std::string_view text = last_bytes(without_output(traceback), kLookedAt);
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

namespace {

constexpr size_t kLineBytes = 1024;
// Lines of an exception's message: text that follows it in a log is seldom set apart.
constexpr size_t kMessageLines = 3;
// Lines of other processes between those of one.
constexpr size_t kInterleaved = 100;

bool starts_exception(std::string_view line) {
    static const RE2 pattern(R"(\A[A-Za-z_][\w.]*(?:\.<locals>[\w.]*)?(?::( |$)|$))");
    return RE2::PartialMatch(line, pattern);
}

// It says that a process failed, not why.
bool reports_process(std::string_view exception) {
    static const RE2 pattern(
        R"(\A([\w.]*\.)?(ChildFailedError|CalledProcessError|ProcessRaisedException|)"
        R"(ProcessExitedException|SubprocessCallException|SystemExit|KeyboardInterrupt)\b)");
    return RE2::PartialMatch(exception, pattern) || reports_exit(exception);
}

// The mark of its process, or the blanks, with which each line of a traceback begins; `before`
// stands before its header.
std::string_view margin_of(std::string_view before, std::string_view rest) {
    static const RE2 frame(R"re(\A( *)  File ")re");
    const std::string_view blanks =
        before.substr(0, std::min(before.find_first_not_of(' '), before.size()));
    re2::StringPiece indent;
    if (blanks.size() == before.size()) {
        // pytest indents a message from its second line on.
        RE2::PartialMatch(rest, frame, &indent);
        return indent.size() > blanks.size() ? std::string_view(indent) : blanks;
    }
    size_t count = 0;
    for (Lines lines(rest); count < kInterleaved && lines.next(); ++count)
        if (lines.line().starts_with(before) &&
            lines.line().substr(before.size()).starts_with("  File \""))
            return before;
    return blanks;
}

struct Block {
    std::string text;       // from its header to the end of its exception's message
    std::string exception;  // first line
    size_t after = 0;       // offset in the message
    bool marked = false;    // each line bears the mark of its process
};

std::optional<Block> block_at(std::string_view message, size_t header, size_t frames) {
    Lines lines(message, frames);
    const size_t begin = message.rfind('\n', header) + 1;  // npos + 1: the text's beginning
    const std::string_view margin =
        margin_of(message.substr(begin, header - begin), message.substr(frames));
    Block block;
    block.marked = margin.find_first_not_of(' ') != std::string_view::npos;
    block.text = std::string(kTracebackHeader) + '\n';
    block.after = frames;
    size_t others = 0;
    size_t message_lines = 0;
    while (lines.next()) {
        std::string_view line = lines.line();
        if (!line.starts_with(margin)) {
            if (!block.marked || ++others > kInterleaved) break;
            continue;
        }
        line = line.substr(margin.size(), kLineBytes);
        if (block.exception.empty()) {
            const bool in_frames = line.empty() || line[0] == ' ' || line == kElision;
            if (!in_frames && !starts_exception(line)) return std::nullopt;
            if (!in_frames) block.exception = line;
        } else if (line.empty() || ++message_lines >= kMessageLines ||
                   line.find(kTracebackHeader) != std::string_view::npos) {
            break;
        }
        block.text.append(line).push_back('\n');
        block.after = lines.after();
    }
    if (block.exception.empty()) return std::nullopt;
    return block;
}

// The line by which Python links a block to the one before it; empty: there is none.
std::string_view link_in(std::string_view between) {
    for (const std::string_view link : {kDirectCause, kDuringHandling})
        if (between.find(link) != std::string_view::npos) return link;
    return {};
}

}  // namespace

bool reports_exit(std::string_view message) {
    static const RE2 pattern(
        R"((?i)(fail\w*|exit\w*|return\w*|terminated|died)\b[^\n]{0,80}\b(return ?code|exit ?(code|status)|status)\b|)"
        R"(returned non-zero|failed with the following error|\breturncode=-?[1-9])");
    return RE2::PartialMatch(last_bytes(message, kLookedAt), pattern);
}

std::optional<Failure> embedded_traceback(std::string_view message) {
    message = last_bytes(message, kLookedAt);
    std::optional<Block> chosen;
    size_t from = 0;  // the end of the block before
    std::string chain;
    for (size_t at = 0; (at = message.find(kTracebackHeader, at)) != std::string_view::npos;) {
        const size_t frames = at + kTracebackHeader.size() + 1;
        const bool whole_line = frames <= message.size() && message[frames - 1] == '\n';
        auto block = whole_line ? block_at(message, at, frames) : std::nullopt;
        at += kTracebackHeader.size();
        if (!block) continue;
        const std::string_view link = link_in(message.substr(from, at - from));
        if (!chain.empty() && !link.empty())
            block->text = fmt::format("{}\n{}\n\n{}", chain, link, block->text);
        chain = block->text;
        from = at = block->after;
        if (reports_process(block->exception)) continue;
        if (chosen && chosen->marked && link.empty()) break;
        chosen = std::move(block);
    }
    if (!chosen) return std::nullopt;
    return parse_traceback(chosen->text);
}

}  // namespace compat::parsers
