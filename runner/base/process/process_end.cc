#include "runner/base/process/process_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "runner/base/host.h"

namespace compat {

namespace {

constexpr double kMiB = 1 << 20;

ProcessEnd make_end(ProcessEnd::Kind kind, int code, std::string detail) {
    ProcessEnd end;
    end.kind = kind;
    end.code = code;
    end.detail = std::move(detail);
    return end;
}

// Between a signal's name and the evidence in its detail.
constexpr std::string_view kLikelyOutOfMemory = ", likely out of memory: ";

}  // namespace

ProcessEnd ProcessEnd::exited(int code) { return make_end(Kind::exited, code, {}); }

ProcessEnd ProcessEnd::signaled(int signal, std::string_view evidence) {
    std::string detail = signal_name(signal);
    if (!evidence.empty()) detail.append(kLikelyOutOfMemory).append(evidence);
    return make_end(Kind::signaled, signal, std::move(detail));
}

ProcessEnd ProcessEnd::timed_out(Milliseconds limit, bool of_test) {
    const std::chrono::duration<double> seconds(limit);
    ProcessEnd end = make_end(Kind::timed_out, 0,
                              fmt::format("{} after {}", of_test ? "test timed out" : "timed out",
                                          format_duration(seconds)));
    end.of_test = of_test;
    end.limit_s = seconds.count();
    return end;
}

ProcessEnd ProcessEnd::out_of_memory(std::uint64_t limit, std::uint64_t peak) {
    ProcessEnd end =
        make_end(Kind::out_of_memory, SIGKILL,
                 fmt::format("grew to {:.0f} MiB, past its limit of {:.0f} MiB",
                             static_cast<double>(peak) / kMiB, static_cast<double>(limit) / kMiB));
    end.limit_bytes = limit;
    end.peak_rss_bytes = peak;
    return end;
}

ProcessEnd ProcessEnd::stopped(std::string reason) {
    return make_end(Kind::stopped, 0, std::move(reason));
}

ProcessEnd ProcessEnd::spawn_failed(std::string error) {
    return make_end(Kind::spawn_failed, 0, std::move(error));
}

std::optional<ProcessEnd::Kind> end_kind_of(std::string_view name) {
    const auto& names = ProcessEnd::kKindNames;
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) return std::nullopt;
    return static_cast<ProcessEnd::Kind>(at - names.begin());
}

std::string name_of_end(const ProcessEnd& end) {
    using Kind = ProcessEnd::Kind;
    const auto or_else = [&](std::string words) { return end.detail.empty() ? words : end.detail; };
    switch (end.kind) {
        case Kind::exited:
            return or_else(fmt::format("exit code {}", end.code));
        case Kind::signaled:
            return or_else(fmt::format("signal {}", end.code))
                .substr(0, end.detail.find(kLikelyOutOfMemory));
        case Kind::timed_out:
            return "timed out";
        case Kind::out_of_memory:
            return "out of memory";
        case Kind::stopped:
            return or_else("interrupted");
        case Kind::spawn_failed:
            return "could not be started";
        case Kind::not_run:
            return or_else("never started");
    }
    return {};
}

std::string describe(const ProcessEnd& end) {
    return end.detail.empty() ? name_of_end(end) : end.detail;
}

std::string explain(const ProcessEnd& end) {
    using Kind = ProcessEnd::Kind;
    const std::string name = name_of_end(end);
    const std::string& detail = end.detail;
    switch (end.kind) {
        case Kind::signaled:
            if (end.code != SIGKILL) return name;
            return fmt::format("killed by {}, not sent by the runner{}", name,
                               detail.size() > name.size() + 2
                                   ? ": " + detail.substr(name.size() + 2)
                                   : std::string());
        case Kind::timed_out: {
            const std::string setting = end.of_test ? " (limits.test_timeout)" : "";
            if (detail.empty()) return name + setting;
            const bool whole = detail.find(name) != std::string::npos;
            return (whole ? detail : name + " " + detail) + setting;
        }
        case Kind::out_of_memory:
            return (detail.empty() ? "grew past its limit" : detail) + " (limits.memory)";
        case Kind::spawn_failed:
            return detail.empty() ? name : name + ": " + detail;
        case Kind::exited:
        case Kind::stopped:
        case Kind::not_run:
            return name;
    }
    return name;
}

}  // namespace compat
