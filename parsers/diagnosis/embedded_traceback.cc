#include "parsers/diagnosis/embedded_traceback.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <string>

#include "parsers/diagnosis/traceback.h"
#include "parsers/text.h"
#include "runner/base/names.h"

namespace compat::parsers {

namespace {

constexpr size_t kLookedAt = 64 * 1024;
constexpr size_t kLineBytes = 1024;
// Of an exception's message: what follows it in a log is seldom set apart.
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
