// What the kernel says of another process in /proc/PID/stat. Not for a process's resources: those
// are wait4's.
#pragma once

#include <optional>
#include <string>

namespace compat::exec {

struct ProcStat {
    std::string name;  // the command's, cut by the kernel to 15 bytes
    char state = ' ';  // 'Z': ended and not waited for
    int parent = 0;    // 0: none, or outside of our namespace
    int session = 0;
};

// Nothing: there is no such process, or no more.
[[nodiscard]] std::optional<ProcStat> proc_stat(int pid);

// Whether `pid` is `ancestor` or was started by it or by a descendant of it. One that has ended, or
// whose ancestors have, is no one's.
[[nodiscard]] bool descends_from(int pid, int ancestor);

}  // namespace compat::exec
