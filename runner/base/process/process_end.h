// How a process ended: one value from the event loop through the parsers and the store to the
// reports, its kinds and its text. Not here: the consequences for the tests that ran in it
// (parsers).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runner/base/clock.h"

namespace compat {

struct ProcessEnd {
    enum class Kind {
        exited,
        signaled,
        timed_out,
        out_of_memory,  // killed by the runner at its memory limit
        stopped,        // by the runner, for the reason in `detail`
        spawn_failed,
        not_run
    };
    static constexpr std::array<std::string_view, 7> kKindNames{
        "exited", "signaled", "timed_out", "out_of_memory", "stopped", "spawn_failed", "not_run"};
    Kind kind = Kind::exited;
    int code = 0;  // exit code or signal number
    // "SIGSEGV", "SIGKILL, likely out of memory: EVIDENCE", "timed out after 30m", "grew to 6.2
    // GiB, past its limit of 6 GiB", "interrupted by SIGINT", strerror
    std::string detail;
    std::uint64_t peak_rss_bytes = 0;  // sum over its processes; 0: unknown
    bool of_test = false;              // timed_out: by the test timeout
    double limit_s = 0;                // timed_out: that limit; 0: unknown
    std::uint64_t limit_bytes = 0;     // out_of_memory: that limit; 0: unknown; not stored

    [[nodiscard]] static ProcessEnd exited(int code);
    // `evidence`: why a SIGKILL not sent by the runner was for lack of memory; empty: none.
    [[nodiscard]] static ProcessEnd signaled(int signal, std::string_view evidence = {});
    [[nodiscard]] static ProcessEnd timed_out(Milliseconds limit, bool of_test);
    [[nodiscard]] static ProcessEnd out_of_memory(std::uint64_t limit, std::uint64_t seen);
    [[nodiscard]] static ProcessEnd stopped(std::string reason);
    [[nodiscard]] static ProcessEnd spawn_failed(std::string error);

    friend bool operator==(const ProcessEnd&, const ProcessEnd&) = default;
};

[[nodiscard]] constexpr std::string_view name_of(ProcessEnd::Kind kind) {
    return ProcessEnd::kKindNames[static_cast<std::size_t>(kind)];
}
[[nodiscard]] std::optional<ProcessEnd::Kind> end_kind_of(std::string_view name);

// A few words, as the type of a failure: "exit code 1", "SIGSEGV", "timed out", "out of memory".
[[nodiscard]] std::string name_of_end(const ProcessEnd& end);
// One line: "exit code 1", "SIGSEGV", "timed out after 30m 00s".
[[nodiscard]] std::string describe(const ProcessEnd& end);
// One line with an explanation: the setting that limited it, or the sender of SIGKILL.
[[nodiscard]] std::string explain(const ProcessEnd& end);

}  // namespace compat
