#include "parsers/crash_excerpt.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "parsers/diagnosis/place.h"
#include "parsers/diagnosis/traceback.h"
#include "parsers/framework_summary.h"
#include "parsers/text.h"
#include "parsers/unittest_header.h"
#include "runner/base/names.h"

namespace compat::parsers {

namespace {

using EndKind = ProcessEnd::Kind;
using ExcerptLines = std::vector<std::string_view>;

// The part of a log that is searched; text in front of it belongs to other tests.
constexpr size_t kLogTailBytes = 256 * 1024;
// Lines before a dump that belong to it: an assertion's text, what a C++ exception said.
constexpr size_t kLinesBefore = 10;
// Lines between a fatal error and the first stack: "Python runtime state: …", and the exception
// that was under way.
constexpr size_t kLinesBetween = 40;
constexpr size_t kMessageBytes = 400;

constexpr std::string_view kFatalError = "Fatal Python error: ";

// How faulthandler calls the signals that it catches; of Python's own fatal errors, which abort, it
// gives the text.
constexpr std::array<std::pair<std::string_view, int>, 4> kSignals{
    {{"Segmentation fault", SIGSEGV},
     {"Floating", SIGFPE},
     {"Bus error", SIGBUS},
     {"Illegal instruction", SIGILL}}};

// From "Fatal Python error: " on; empty where the line has none. unittest's "test_x … ... " may
// stand before it, as before the first thread's header.
std::string_view fatal_in(std::string_view line) {
    const size_t at = line.find(kFatalError);
    return at == std::string_view::npos ? std::string_view() : line.substr(at);
}

bool is_of(const ProcessEnd& end, std::string_view fatal) {
    if (end.kind != EndKind::signaled || fatal.empty()) return false;
    fatal.remove_prefix(kFatalError.size());
    for (const auto& [words, signal] : kSignals)
        if (fatal.starts_with(words)) return end.code == signal;
    return end.code == SIGABRT;
}

// A free-threaded Python prints no other thread's stack, and no name of this one.
bool is_current(std::string_view line) {
    return line.find("Current thread 0x") != std::string_view::npos ||
           line.find("Stack (most recent call first):") != std::string_view::npos;
}

bool is_thread(std::string_view line) {
    static const RE2 header(R"(((Current t|T)hread 0x.*|Stack )\(most recent call first\):$)",
                            RE2::Latin1);
    return line.ends_with("(most recent call first):") && RE2::PartialMatch(line, header);
}

bool in_dump(std::string_view line) {
    return line.empty() || line.starts_with("  ") || is_thread(line);
}

// Whether it belongs to a framework or to us, not to the suite.
bool is_machinery(const Frame& frame) {
    static const RE2 files(
        R"(\A<frozen |/(_compat_harness|_pytest|pluggy)/|/pytest/__|/harness/main\.py\z|)"
        R"(/unittest/(case|suite|runner|main|mock|async_case|loader|result)\.py\z)",
        RE2::Latin1);
    return RE2::PartialMatch(frame.file, files);
}

ExcerptLines lines_of(std::string_view log) {
    ExcerptLines all;
    const size_t from = log.size() - std::min(log.size(), kLogTailBytes);
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

Dump at_place(const ExcerptLines& lines, size_t begin, size_t stacks, bool fatal) {
    const auto end =
        std::find_if_not(lines.begin() + static_cast<std::ptrdiff_t>(stacks), lines.end(), in_dump);
    Dump dump{begin, static_cast<size_t>(end - lines.begin()), 0, fatal};
    dump.current = dump.end;
    for (size_t i = stacks; i < dump.end; ++i)
        if (is_current(lines[i])) dump.current = i;
    return dump;
}

// The last dump that this end explains: of a signal the one that names it; of a time-out, and of
// what the runner ended otherwise, the last stacks that stand there.
Dump find_dump(const ExcerptLines& lines, const ProcessEnd& end) {
    for (size_t i = lines.size(); i-- > 0;) {
        if (!is_of(end, fatal_in(lines[i]))) continue;
        for (size_t stacks = i + 1; stacks < std::min(lines.size(), i + kLinesBetween); ++stacks)
            if (is_thread(lines[stacks])) return at_place(lines, i, stacks, true);
        return at_place(lines, i, i + 1, true);
    }
    if (end.kind != EndKind::timed_out && end.kind != EndKind::out_of_memory) return {};
    const auto last = std::find_if(lines.rbegin(), lines.rend(), is_thread);
    if (last == lines.rend()) return {};
    auto first = std::find_if_not(last, lines.rend(), in_dump).base();
    // An unfinished line of the framework's may stand before it, and begin with blanks.
    first = std::find_if(first, lines.end(), is_thread);
    const auto begin = static_cast<size_t>(first - lines.begin());
    return at_place(lines, begin, begin, false);
}

// Frames of the current thread, outermost first, without the machinery; all where it is nothing
// but that.
std::vector<Frame> frames_in(const ExcerptLines& lines, const Dump& dump) {
    std::vector<Frame> all;
    for (size_t i = dump.current + 1; i < dump.end; ++i) {
        if (lines[i].empty() || is_thread(lines[i])) break;
        if (auto frame = frame_of(lines[i])) all.push_back(std::move(*frame));
    }
    std::reverse(all.begin(), all.end());
    if (std::ranges::all_of(all, is_machinery)) return all;
    std::erase_if(all, is_machinery);
    return all;
}

// Where it was: the innermost place that is not Python's own, as its threading.py waits for others.
std::string place_in(const std::vector<Frame>& frames) {
    auto found = std::find_if(frames.rbegin(), frames.rend(), [](const Frame& f) {
        return place_of(f.file).owner != Owner::python && !is_machinery(f);
    });
    if (found == frames.rend()) found = frames.rbegin();
    return fmt::format("in {} ({}:{})", found->function, found->file, found->line);
}

// The end of the log; with a dump, it and what stands right before it. Where a dump of many threads
// is too long, the current one's stack is what is wanted.
std::string excerpt(const ExcerptLines& lines, const Dump& dump) {
    const bool forward = dump.end > dump.begin;  // whether it is cut at its end
    size_t end = lines.size();
    while (!forward && end > 0 && trimmed(lines[end - 1]).empty()) --end;
    size_t begin = end - std::min(end, kLastLines);
    if (forward) {
        begin = dump.begin - std::min(dump.begin, kLinesBefore);
        if (dump.end - begin > kLastLines)
            begin = dump.end - dump.begin > kLastLines && !dump.fatal ? dump.current : dump.begin;
        end = std::min(end, begin + kLastLines);
    }
    if (begin == end) return {};
    const char* const from = lines[begin].data();
    const auto size = static_cast<size_t>(lines[end - 1].data() + lines[end - 1].size() - from);
    const auto cut = forward ? first_bytes : last_bytes;
    // Bytes that are no UTF-8 become longer.
    const std::string text = valid_utf8(cut({from, size}, kLastBytes));
    const std::string_view kept = cut(text, kLastBytes);
    return std::string(kept.substr(0, kept.find_last_not_of('\n') + 1)) + '\n';
}

// A line's words about a death.
struct Said {
    std::string_view text;  // without the framework's announcement of a test at its start
    bool announces_it;      // the framework announces the test that died
};

Said said_in(std::string_view line, std::string_view test) {
    constexpr std::string_view kRun = "[ RUN      ] ";
    const std::string_view file = test.substr(0, test.find("::"));
    if (!test.empty()) {
        if (line.starts_with(test)) return {trimmed(line.substr(test.size())), true};
        // GoogleTest; and pytest without -v, which prints the file's name, and a letter a test.
        const bool by_gtest = line.starts_with(kRun) && line.substr(kRun.size()) == test;
        if (by_gtest || (file.size() < test.size() && line.starts_with(file))) return {{}, true};
    }
    const auto header = header_of(line);
    const bool it = header && test.ends_with(header->method) &&
                    test.find(header->qualified) != std::string_view::npos;
    const size_t dots = line.find(kEllipsis.substr(0, 4));
    if (dots != std::string_view::npos && (header || line.ends_with(kEllipsis)))
        return {trimmed(line.substr(dots + 4)), it};
    return {header && header->rest.empty() ? std::string_view() : trimmed(line), it};
}

std::string_view last_line(const ExcerptLines& lines, std::string_view test) {
    for (auto line = lines.rbegin(); line != lines.rend(); ++line)
        if (const Said said = said_in(*line, test); !said.text.empty() || said.announces_it)
            return said.text;
    return {};
}

}  // namespace

Failure crash_excerpt(std::string_view log, const ProcessEnd& end, std::string_view test) {
    const ExcerptLines lines = lines_of(log);
    const Dump dump = find_dump(lines, end);
    Failure failure;
    failure.type = name_of_end(end);
    failure.frames = frames_in(lines, dump);
    if (dump.fatal)
        failure.message = valid_utf8(fatal_in(lines[dump.begin]).substr(0, kMessageBytes));
    else if (end.kind == EndKind::out_of_memory)
        failure.message = explain(end);
    else if (!failure.frames.empty())
        failure.message = place_in(failure.frames);
    else if (dump.end == dump.begin)
        failure.message = valid_utf8(last_line(lines, test).substr(0, kMessageBytes));
    failure.traceback = excerpt(lines, dump);
    return failure;
}

void add_crash_excerpts(ModuleRecord& record, const TextSource& source, const ProcessEnd& end) {
    const auto died = [](const CaseRecord& c) {
        return !c.failure && (c.state == State::crashed || c.state == State::timed_out);
    };
    if (std::ranges::none_of(record.cases, died)) return;
    const std::string_view log = source.text();
    // The framework's summary does not say why its process died.
    const auto summary = record.finished ? find_summary(log, record.framework) : std::nullopt;
    const std::string_view after = summary ? trimmed(log.substr(summary->end)) : log;
    for (CaseRecord& c : record.cases) {
        if (!died(c)) continue;
        c.failure = crash_excerpt(log, end, c.pseudo ? std::string_view() : c.name);
        if (after.empty()) c.failure->message.clear();
        c.failure->phase = c.phase;
    }
}

}  // namespace compat::parsers
