#include "runner/exec/process_table.h"

#include <fmt/format.h>
#include <sys/wait.h>

namespace compat::exec {

bool ProcessTable::reap(int pid) { return ::waitpid(pid, nullptr, WNOHANG) == pid; }

bool ProcessTable::descends_from(int pid, int ancestor) const {
    while (pid > 0 && pid != ancestor) {
        const auto info = find(pid);
        pid = info ? info->parent : 0;
    }
    return pid > 0;
}

std::uint64_t run_hash(std::string_view run) {
    std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    for (const char c : run) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return hash >> 23;
}

std::string memory_evidence(const ProcessTable& table, std::uint64_t kills_before,
                            std::uint64_t peak_rss_bytes) {
    // Memory may have grown since the last scan.
    constexpr double kNear = 0.8;
    const auto in_mib = [](std::uint64_t bytes) { return bytes >> 20; };
    const std::uint64_t limit = table.memory_limit();
    if (limit > 0 && static_cast<double>(peak_rss_bytes) >= kNear * static_cast<double>(limit))
        return fmt::format("peak RSS {} MiB of {} MiB", in_mib(peak_rss_bytes), in_mib(limit));
    if (table.memory_kills() > kills_before)
        return fmt::format("the kernel's OOM killer ran meanwhile (peak RSS {} MiB)",
                           in_mib(peak_rss_bytes));
    return {};
}

std::string state_name(char state) {
    struct Row {
        char state;
        const char* words;
    };
    static constexpr Row kStates[] = {
        {'D', "uninterruptible sleep"}, {'R', "running"}, {'S', "sleeping"}, {'T', "stopped"},
        {'t', "stopped by a debugger"}, {'Z', "zombie"},  {'I', "idle"},
    };
    for (const auto& row : kStates)
        if (row.state == state) return fmt::format("{} ({})", row.words, state);
    return {state};
}

}  // namespace compat::exec
