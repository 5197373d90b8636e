#include "parsers/last_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "parsers/closing.h"
#include "parsers/ending.h"
#include "parsers/import/unittest/header.h"
#include "parsers/text.h"

namespace compat::parsers {

namespace {

using EndKind = ProcessEnd::Kind;

// Of a log of any size; what was said before is of other tests.
constexpr size_t kLogTailBytes = 256 * 1024;
// Lines before a dump that belong to it: an assertion's text, what a C++ exception said.
constexpr size_t kLinesBefore = 10;
constexpr size_t kLogLineBytes = 1000;
constexpr size_t kMessageBytes = 400;
constexpr std::string_view kCut = "[…]";

constexpr std::string_view kFatal = "Fatal Python error: ";
constexpr std::string_view kCurrent = "Current thread 0x";

// How faulthandler calls the signals that it catches; of Python's own fatal errors, which abort, it
// gives the text.
struct SignalWords {
    int signal;
    std::string_view words;
};
constexpr std::array<SignalWords, 4> kSignals{{{SIGSEGV, "Segmentation fault"},
                                               {SIGFPE, "Floating"},
                                               {SIGBUS, "Bus error"},
                                               {SIGILL, "Illegal instruction"}}};

// From "Fatal Python error: " on; empty where the line has none. unittest's "test_x … ... " may
// stand before it, as before the first thread's header.
std::string_view fatal_in(std::string_view line) {
    const size_t at = line.find(kFatal);
    return at == std::string_view::npos ? std::string_view() : line.substr(at);
}

bool is_of(const ProcessEnd& end, std::string_view fatal) {
    if (end.kind != EndKind::signaled || fatal.empty()) return false;
    fatal.remove_prefix(kFatal.size());
    for (const auto& [signal, words] : kSignals)
        if (fatal.starts_with(words)) return end.code == signal;
    return end.code == SIGABRT;
}

bool is_current(std::string_view line) { return line.find(kCurrent) != std::string_view::npos; }

bool is_thread(std::string_view line) {
    return line.ends_with("(most recent call first):") &&
           (is_current(line) || line.find("Thread 0x") != std::string_view::npos ||
            line.ends_with("Stack (most recent call first):"));
}

bool in_dump(std::string_view line) {
    return line.empty() || line.starts_with("  ") || is_thread(line);
}

// What the frameworks and we run the suite with.
bool is_machinery(std::string_view file) {
    constexpr std::array<std::string_view, 4> kFolders{"/_compat_harness/", "/_pytest/", "/pluggy/",
                                                       "/pytest/__"};
    constexpr std::array<std::string_view, 8> kUnittest{
        "/unittest/case.py",   "/unittest/suite.py", "/unittest/runner.py",
        "/unittest/main.py",   "/unittest/mock.py",  "/unittest/async_case.py",
        "/unittest/loader.py", "/unittest/result.py"};
    const auto any = [&](const auto& names, auto holds) {
        return std::any_of(names.begin(), names.end(), holds);
    };
    return file.starts_with("<frozen ") || file.ends_with("/harness/main.py") ||
           any(kFolders, [&](std::string_view f) { return file.find(f) != file.npos; }) ||
           any(kUnittest, [&](std::string_view f) { return file.ends_with(f); });
}

// `  File "x.py", line 12 in f`, as faulthandler writes it; line 0 where it says "???".
std::optional<Frame> dumped_frame(std::string_view line) {
    constexpr std::string_view kFile = "  File \"";
    constexpr std::string_view kLine = "\", line ";
    if (!line.starts_with(kFile)) return std::nullopt;
    line.remove_prefix(kFile.size());
    const size_t name = line.find(kLine);
    if (name == std::string_view::npos) return std::nullopt;
    const std::string_view rest = line.substr(name + kLine.size());
    const size_t in = rest.find(" in ");
    if (in == std::string_view::npos) return std::nullopt;
    const auto number = number_of(rest.substr(0, in));
    const bool usable = number && *number < 1'000'000'000;
    return Frame{valid_utf8(line.substr(0, name)), usable ? static_cast<int>(*number) : 0,
                 valid_utf8(rest.substr(in + 4))};
}

std::vector<std::string_view> lines_of(std::string_view log) {
    std::vector<std::string_view> all;
    const size_t from = log.size() > kLogTailBytes ? log.size() - kLogTailBytes : 0;
    for (Lines lines(log, from); lines.next();) all.push_back(lines.line());
    // A line that begins before what is looked at.
    if (from > 0 && log[from - 1] != '\n' && !all.empty()) all.erase(all.begin());
    return all;
}

// Places in the lines of a log; empty where begin == end.
struct Dump {
    size_t begin = 0;
    size_t end = 0;
    size_t current = 0;  // the header of the thread that was current; end: there is none
    bool fatal = false;  // it begins with "Fatal Python error"
};

size_t end_of_dump(const std::vector<std::string_view>& lines, size_t at) {
    while (at < lines.size() && in_dump(lines[at])) ++at;
    return at;
}

Dump at_place(const std::vector<std::string_view>& lines, size_t begin, size_t stacks, bool fatal) {
    Dump dump{.begin = begin, .end = end_of_dump(lines, stacks), .current = 0, .fatal = fatal};
    dump.current = dump.end;
    for (size_t i = stacks; i < dump.end; ++i)
        if (is_current(lines[i])) dump.current = i;
    return dump;
}

// The last dump that this end explains: of a signal the one that names it; of a time-out, and of
// what the runner ended otherwise, the last stacks that stand there.
Dump find_dump(const std::vector<std::string_view>& lines, const ProcessEnd& end) {
    for (size_t i = lines.size(); i-- > 0;)
        if (is_of(end, fatal_in(lines[i]))) {
            // "Python runtime state: …" and the exception that was under way may come between.
            size_t stacks = i + 1;
            while (stacks < std::min(lines.size(), i + 40) && !is_thread(lines[stacks])) ++stacks;
            return at_place(
                lines, i, stacks < lines.size() && is_thread(lines[stacks]) ? stacks : i + 1, true);
        }
    if (end.kind != EndKind::timed_out && end.kind != EndKind::out_of_memory) return {};
    size_t last = lines.size();
    while (last-- > 0 && !is_thread(lines[last])) {
    }
    if (last >= lines.size()) return {};
    size_t first = last;
    while (first > 0 && in_dump(lines[first - 1])) --first;
    while (!is_thread(lines[first])) ++first;
    return at_place(lines, first, first, false);
}

// Of the current thread, outermost first, without the machinery; all of them where it is nothing
// but that.
std::vector<Frame> frames_in(const std::vector<std::string_view>& lines, const Dump& dump) {
    std::vector<Frame> all;
    for (size_t i = dump.current + 1; i < dump.end; ++i) {
        auto frame = dumped_frame(lines[i]);
        if (!frame && (lines[i].empty() || is_thread(lines[i]))) break;
        if (frame) all.push_back(std::move(*frame));
    }
    std::reverse(all.begin(), all.end());
    std::vector<Frame> frames;
    for (const Frame& frame : all)
        if (!is_machinery(frame.file)) frames.push_back(frame);
    return frames.empty() ? all : frames;
}

// ".../lib/python3.11/threading.py", which waits for others; not what is installed below it.
bool is_standard_library(std::string_view file) {
    const size_t at = file.find("/lib/python3.");
    return at != std::string_view::npos && file.find("/site-packages/", at) == file.npos;
}

// Where it was: the innermost place that is not Python's own.
std::string place_in(const std::vector<Frame>& frames) {
    auto found = std::find_if(frames.rbegin(), frames.rend(), [](const Frame& f) {
        return !is_standard_library(f.file) && !is_machinery(f.file);
    });
    if (found == frames.rend()) found = frames.rbegin();
    return fmt::format("in {} ({}:{})", found->function, found->file, found->line);
}

std::string_view cut(std::string_view line, size_t most) {
    return line.size() <= most ? line : line.substr(0, most);
}

// The end of the log; with a dump, it and what stands right before it. Where a dump of many threads
// is too long, the current one's stack is what is wanted.
std::string excerpt(const std::vector<std::string_view>& lines, const Dump& dump) {
    size_t begin = 0;
    size_t end = lines.size();
    if (dump.end > dump.begin) {
        begin = dump.begin - std::min(dump.begin, kLinesBefore);
        if (dump.end - begin > kLastLines)
            begin = dump.end - dump.begin > kLastLines && !dump.fatal ? dump.current : dump.begin;
        end = std::min(end, begin + kLastLines);
    } else {
        while (end > 0 && trimmed(lines[end - 1]).empty()) --end;
        begin = end - std::min(end, kLastLines);
    }
    std::vector<std::string> kept;
    size_t bytes = 0;
    const auto keep = [&](std::string_view line) {
        std::string text = valid_utf8(cut(line, kLogLineBytes));
        if (line.size() > kLogLineBytes) text += kCut;
        bytes += text.size() + 1;
        kept.push_back(std::move(text));
        return bytes <= kLastBytes;
    };
    if (dump.end > dump.begin) {
        for (size_t i = begin; i < end && keep(lines[i]);) ++i;
    } else {
        for (size_t i = end; i-- > begin && keep(lines[i]);) {
        }
        std::reverse(kept.begin(), kept.end());
    }
    while (!kept.empty() && kept.back().empty()) kept.pop_back();
    std::string text;
    for (const std::string& line : kept) text += line + "\n";
    return text;
}

bool is_gtest_start(std::string_view line, std::string_view test) {
    constexpr std::string_view kRun = "[ RUN      ] ";
    return !test.empty() && line.starts_with(kRun) && line.substr(kRun.size()) == test;
}

// pytest without -v prints the file's name, and a letter a test.
bool is_progress_line(std::string_view line, std::string_view test) {
    const size_t file = test.find("::");
    return file != std::string_view::npos && line.starts_with(test.substr(0, file)) &&
           !line.starts_with(test);
}

// A line without the framework's own announcement of a test at its start.
std::string_view without_announcement(std::string_view line, std::string_view test) {
    if (!test.empty() && line.starts_with(test)) return trimmed(line.substr(test.size()));
    if (is_gtest_start(line, test) || is_progress_line(line, test)) return {};
    const size_t dots = line.find(kEllipsis.substr(0, 4));
    if (dots != std::string_view::npos && (header_of(line) || line.ends_with(kEllipsis)))
        return trimmed(line.substr(dots + 4));
    return header_of(line) && header_of(line)->rest.empty() ? std::string_view() : trimmed(line);
}

// Whether the framework announces `test` in this line.
bool announces(std::string_view line, std::string_view test) {
    if (test.empty()) return false;
    if (line.starts_with(test) || is_gtest_start(line, test) || is_progress_line(line, test))
        return true;
    const auto header = header_of(line);
    return header && test.ends_with(header->method) &&
           test.find(header->qualified) != std::string_view::npos;
}

std::string_view last_line(const std::vector<std::string_view>& lines, std::string_view test) {
    for (size_t i = lines.size(); i-- > 0;) {
        const std::string_view told = without_announcement(lines[i], test);
        if (!told.empty() || announces(lines[i], test)) return told;
    }
    return {};
}

std::string_view type_of(const ProcessEnd& end) {
    return end.kind == EndKind::timed_out ? "timed out" : "out of memory";
}

}  // namespace

Failure last_words(std::string_view log, const ProcessEnd& end, std::string_view test) {
    const std::vector<std::string_view> lines = lines_of(log);
    const Dump dump = find_dump(lines, end);
    Failure failure;
    const bool named = end.kind == EndKind::timed_out || end.kind == EndKind::out_of_memory;
    failure.type = named ? std::string(type_of(end)) : name_of_end(end);
    failure.frames = frames_in(lines, dump);
    if (dump.fatal)
        failure.message = valid_utf8(cut(fatal_in(lines[dump.begin]), kMessageBytes));
    else if (end.kind == EndKind::out_of_memory)
        failure.message = explain(end);
    else if (!failure.frames.empty())
        failure.message = place_in(failure.frames);
    else if (dump.end == dump.begin)
        failure.message = valid_utf8(cut(last_line(lines, test), kMessageBytes));
    failure.traceback = excerpt(lines, dump);
    return failure;
}

void add_last_words(ModuleRecord& record, const TextSource& source, const ProcessEnd& end) {
    const auto died = [](const CaseRecord& c) {
        return !c.failure && (c.state == State::crashed || c.state == State::timed_out);
    };
    if (std::none_of(record.cases.begin(), record.cases.end(), died)) return;
    const std::string_view log = source.text();
    // What the framework said last is nothing that its process died of.
    const auto closing = record.finished ? find_closing(log, record.framework) : std::nullopt;
    const std::string_view after = closing ? trimmed(log.substr(closing->end)) : log;
    for (CaseRecord& c : record.cases) {
        if (!died(c)) continue;
        c.failure = last_words(log, end, c.pseudo ? std::string_view() : c.name);
        if (after.empty()) c.failure->message.clear();
        c.failure->phase = c.phase;
    }
}

}  // namespace compat::parsers
