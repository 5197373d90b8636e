#include "parsers/import/printed_end.h"

#include <algorithm>
#include <array>
#include <csignal>

#include "parsers/pattern.h"

namespace compat::parsers {

namespace {

constexpr size_t kEndBytes = 64 * 1024;

struct EndWords {
    std::string_view words;
    int signal;
    std::string_view name;
};
constexpr std::array<EndWords, 31> kEndWords{{
    {"Segmentation fault", SIGSEGV, "SIGSEGV"},
    {"SegFault", SIGSEGV, "SIGSEGV"},
    {"SIGSEGV", SIGSEGV, "SIGSEGV"},
    {"AddressSanitizer: SEGV", SIGSEGV, "SIGSEGV"},
    {"Aborted", SIGABRT, "SIGABRT"},
    {"Subprocess aborted", SIGABRT, "SIGABRT"},
    {"Abort trap", SIGABRT, "SIGABRT"},
    {"SIGABRT", SIGABRT, "SIGABRT"},
    {"terminate called ", SIGABRT, "SIGABRT"},
    {"ERROR: AddressSanitizer", SIGABRT, "SIGABRT"},
    {"Bus error", SIGBUS, "SIGBUS"},
    {"SIGBUS", SIGBUS, "SIGBUS"},
    {"Illegal instruction", SIGILL, "SIGILL"},
    {"illegal hardware instruction", SIGILL, "SIGILL"},
    {"SIGILL", SIGILL, "SIGILL"},
    {"Floating point exception", SIGFPE, "SIGFPE"},
    {"SIGFPE", SIGFPE, "SIGFPE"},
    {"Trace/breakpoint trap", SIGTRAP, "SIGTRAP"},
    {"SIGTRAP", SIGTRAP, "SIGTRAP"},
    {"Killed", SIGKILL, "SIGKILL"},
    {"SIGKILL", SIGKILL, "SIGKILL"},
    {"Terminated", SIGTERM, "SIGTERM"},
    {"SIGTERM", SIGTERM, "SIGTERM"},
    // As a shell tells a CI service: 128 and the signal.
    {"exit code 132", SIGILL, "SIGILL"},
    {"exit code 134", SIGABRT, "SIGABRT"},
    {"exit code 135", SIGBUS, "SIGBUS"},
    {"exit code 136", SIGFPE, "SIGFPE"},
    {"exit code 137", SIGKILL, "SIGKILL"},
    {"exit code 139", SIGSEGV, "SIGSEGV"},
    {"exit code 143", SIGTERM, "SIGTERM"},
    {"+ Timeout +", 0, "by pytest-timeout"},
}};

}  // namespace

std::optional<ProcessEnd> printed_end(std::string_view log) {
    log.remove_prefix(log.size() - std::min(log.size(), kEndBytes));
    size_t last = 0;
    const EndWords* found = nullptr;
    for (const EndWords& row : kEndWords)
        if (const size_t at = log.rfind(row.words);
            at != std::string_view::npos && (!found || at > last)) {
            last = at;
            found = &row;
        }
    if (!found) return std::nullopt;
    using enum ProcessEnd::Kind;
    return ProcessEnd{.kind = found->signal == 0 ? timed_out : signaled,
                      .code = found->signal,
                      .detail = std::string(found->name)};
}

bool says_death(std::string_view line) {
    constexpr size_t kLongest = 4096;
    static const Pattern death(
        R"((?:\S.*\.[A-Za-z]\w* )?[.FEsxXuR,-]*(?:(?:sh|/\S*|[^\s.FEsxXuR,-]\S*): line \d+: +\d+ )?)"
        R"((?:Killed|Terminated|Segmentation fault|Aborted|Abort trap|Bus error|)"
        R"(Illegal instruction|Floating point exception|Trace/breakpoint trap)(?:[ :(].*)?)");
    return line.size() <= kLongest && death.match(line);
}

ProcessEnd end_of_cut_log(std::string_view log, bool more_follows) {
    static const ProcessEnd crash{.kind = ProcessEnd::Kind::signaled,
                                  .detail = "a crash that the log does not name"};
    return printed_end(log).value_or(more_follows ? crash : kBrokenOff);
}

}  // namespace compat::parsers
